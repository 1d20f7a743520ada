// Only this module makes elements. Strings become text nodes: nothing from an event file is parsed as HTML.

const SVG = 'http://www.w3.org/2000/svg';

export function h(tag, props, ...children) {
  return furnish(document.createElement(tag), props, children);
}

export function svg(tag, props, ...children) {
  return furnish(document.createElementNS(SVG, tag), props, children);
}

function furnish(element, props, children) {
  for (const [key, value] of Object.entries(props || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key === 'class') element.setAttribute('class', value);
    else if (key === 'style') Object.assign(element.style, value);
    else if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : value);
  }
  const shown = children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
  element.append(...shown);
  return element;
}

// Values of a report may be of any type: these turn a wrong one into "unknown" instead of an error.
export const num = (value) => (typeof value === 'number' && Number.isFinite(value) ? value : null);
export const list = (value) => (Array.isArray(value) ? value : []);
export const text = (value) => (typeof value === 'string' ? value : '');
export const part = (value) => (value && typeof value === 'object' && !Array.isArray(value) ? value : {});

export function card(title, note, ...children) {
  const id = 'h-' + title.toLowerCase().replace(/[^a-z]+/g, '-');
  return h('section', {class: 'card', 'aria-labelledby': id},
    h('div', {class: 'card-head'}, h('h2', {id}, title), note ? h('p', {class: 'note'}, note) : null),
    children);
}

// Long names of code may break after punctuation, not in the middle of a word.
export const breakable = (words) => words.split(/(?<=[=.(/_])(?=\w)/).flatMap((piece, i) => (i ? [h('wbr'), piece] : [piece]));

// A share of a whole. The number always stands beside it, so the bar itself is silent for screen readers.
export function bar(share, kind) {
  const width = Math.max(0, Math.min(1, share || 0)) * 100;
  return h('span', {class: 'bar', 'aria-hidden': 'true'},
    h('span', {class: 'fill ' + (kind || ''), style: {width: width.toFixed(2) + '%'}}));
}

// Runs of one sweep differ at the end of their names, so the middle is left out. The whole name is in the tooltip.
export function shortName(name, most) {
  if (!name) return '.';
  const head = Math.floor(most / 3);
  return name.length <= most ? name : `${name.slice(0, head)}…${name.slice(name.length - (most - head - 1))}`;
}
