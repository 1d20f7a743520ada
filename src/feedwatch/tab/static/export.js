// Pictures and tables leave the page: as SVG, PNG and CSV, to a file or to the clipboard.
import {h} from './dom.js';

const COPIED_STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-weight', 'font-family', 'text-anchor', 'paint-order', 'stroke-linejoin'];
const PNG_SCALE = 2; // sharp on a screen with small pixels, and in a document

// The picture stands alone: what the page's style says about each element is written to it.
export function svgText(drawing, words) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of COPIED_STYLES) {
      const value = style.getPropertyValue(name);
      if (value && !(name === 'fill' && element.getAttribute('fill')?.startsWith('url('))) element.setAttribute(name, value);
    }
    element.removeAttribute('class');
  });
  const paper = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
  paper.setAttribute('width', '100%');
  paper.setAttribute('height', '100%');
  paper.setAttribute('fill', getComputedStyle(drawing.closest('.card') || document.body).backgroundColor);
  copy.prepend(paper);
  copy.removeAttribute('aria-hidden');
  const title = document.createElementNS('http://www.w3.org/2000/svg', 'title');
  title.textContent = words;
  copy.prepend(title);
  return new XMLSerializer().serializeToString(copy);
}

export async function pngOf(drawing, words) {
  const picture = new Image();
  picture.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svgText(drawing, words));
  await picture.decode();
  const canvas = h('canvas', {width: picture.naturalWidth * PNG_SCALE, height: picture.naturalHeight * PNG_SCALE});
  canvas.getContext('2d').drawImage(picture, 0, 0, canvas.width, canvas.height);
  return new Promise((ready) => canvas.toBlob(ready, 'image/png'));
}

// A cell that a spreadsheet would read as a formula is text: names come from other people's files.
const csvCell = (value) => {
  if (typeof value === 'number') return String(value);
  const words = value === null || value === undefined ? '' : String(value);
  const safe = /^[=+\-@\t\r]/.test(words) ? "'" + words : words;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
};

export const csvText = (rows) => rows.map((row) => row.map(csvCell).join(',')).join('\r\n') + '\r\n';

export function saveAs(name, content, type) {
  const address = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  const link = h('a', {href: address, download: name, hidden: true});
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** drawing: a function that finds the SVG, because a redraw replaces it */
export function saveButtons(what, name, drawing, rows, extra = []) {
  const act = (label, hint, work) => h('button', {type: 'button', class: 'small', title: hint, onclick: work}, label);
  return h('div', {class: 'saves', role: 'group', 'aria-label': `Save ${what}`},
    extra,
    act('SVG', 'Save as a picture that scales', () => saveAs(name + '.svg', svgText(drawing(), what), 'image/svg+xml')),
    act('PNG', 'Save as a picture', async () => saveAs(name + '.png', await pngOf(drawing(), what))),
    act('CSV', 'Save the numbers', () => saveAs(name + '.csv', csvText(rows()), 'text/csv')));
}
