// Pictures and tables leave the page: as SVG, PNG and CSV, to a file or to the clipboard.
import {h, svg} from './dom.js';
import {patterns} from './patterns.js';

const COPIED_STYLES = ['fill', 'stroke', 'stroke-width', 'stroke-dasharray', 'opacity', 'font-size', 'font-weight', 'font-family', 'text-anchor', 'paint-order', 'stroke-linejoin'];
const PNG_SCALE = 2; // sharp on a screen with small pixels, and in a document
const EDGE = 12, KEY_ROW = 22, LETTER = 6.4; // pixels around and between the pictures; a letter of the key, at most

// The picture stands alone: what the page's style says about each element is written to it.
function styledCopy(drawing) {
  const copy = drawing.cloneNode(true), originals = [drawing, ...drawing.querySelectorAll('*')];
  [copy, ...copy.querySelectorAll('*')].forEach((element, i) => {
    const style = getComputedStyle(originals[i]);
    for (const name of COPIED_STYLES) {
      const value = style.getPropertyValue(name);
      if (value && !(name === 'fill' && element.getAttribute('fill')?.startsWith('url('))) element.setAttribute(name, value);
    }
    element.removeAttribute('class');
  });
  copy.removeAttribute('aria-hidden');
  return copy;
}

/** What the colours and dashes mean. entries: [[class of the swatch, words]] */
function keyDrawing(entries, width) {
  const {defs, fill} = patterns();
  let x = 0, y = 0;
  const drawn = entries.map(([kind, words]) => {
    const needed = words.length * LETTER + 44;
    if (x > 0 && x + needed > width) [x, y] = [0, y + KEY_ROW];
    const at = x;
    x += needed;
    const swatch = kind.startsWith('line') ? svg('path', {d: `M${at} ${y + 10}h22`, class: kind})
      : svg('rect', {x: at + 4, y: y + 4, width: 12, height: 12, class: kind, fill: fill(kind.replace('p-', ''))});
    return [swatch, svg('text', {x: at + 26, y: y + 14, class: 'tick'}, words)];
  });
  return svg('svg', {width, height: y + KEY_ROW, class: 'drawing'}, defs, drawn);
}

/** {drawings: [[title, svg]], key: [[class, words]]}: one below the other on the card's own ground */
export function svgText({drawings, key}, words) {
  const card = drawings[0][1].closest('.card'), width = Math.max(...drawings.map(([, drawing]) => +drawing.getAttribute('width')));
  const legend = keyDrawing(key, width - 2 * EDGE);
  card.append(legend); // only what is in the page has a style
  const ink = getComputedStyle(card), parts = [];
  let y = EDGE;
  for (const [title, drawing] of [...drawings, ['', legend]]) {
    if (title) parts.push(svg('text', {x: EDGE, y: y + 13, fill: ink.color, 'font-family': ink.fontFamily, 'font-size': '13px', 'font-weight': '600'}, title));
    if (title) y += KEY_ROW;
    const copy = styledCopy(drawing);
    copy.setAttribute('x', EDGE);
    copy.setAttribute('y', y);
    parts.push(copy);
    y += +drawing.getAttribute('height') + EDGE;
  }
  legend.remove();
  const size = {width: width + 2 * EDGE, height: y};
  return new XMLSerializer().serializeToString(svg('svg', {...size, viewBox: `0 0 ${size.width} ${size.height}`}, svg('title', {}, words),
    svg('rect', {...size, fill: ink.backgroundColor}), parts));
}

export async function pngOf(pictures, words) {
  const picture = new Image();
  picture.src = 'data:image/svg+xml;charset=utf-8,' + encodeURIComponent(svgText(pictures, words));
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

/** pictures: a function that finds what `svgText` takes, because a redraw replaces it */
export function saveButtons(what, name, pictures, rows, extra = []) {
  const act = (label, hint, work) => h('button', {type: 'button', class: 'small', title: hint, onclick: work}, label);
  return h('div', {class: 'saves', role: 'group', 'aria-label': `Save ${what}`},
    extra,
    act('SVG', 'Save as a picture that scales', () => saveAs(name + '.svg', svgText(pictures(), what), 'image/svg+xml')),
    act('PNG', 'Save as a picture', async () => saveAs(name + '.png', await pngOf(pictures(), what))),
    act('CSV', 'Save the numbers', () => saveAs(name + '.csv', csvText(rows()), 'text/csv')));
}
