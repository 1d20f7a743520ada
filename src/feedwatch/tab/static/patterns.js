// A shape for each meaning besides its colour: waiting is hatched, copies are dotted. Readable in print and by everyone.
import {svg} from './dom.js';

let patternsMade = 0;

/** Definitions for one drawing, and the fill of each phase in it. Every drawing has its own: it may be saved alone. */
export function patterns() {
  patternsMade += 1;
  const id = (name) => `fw-${name}-${patternsMade}`;
  const hatch = svg('pattern', {id: id('wait'), width: 6, height: 6, patternUnits: 'userSpaceOnUse', patternTransform: 'rotate(45)'},
    svg('rect', {width: 6, height: 6, class: 'p-input_wait soft'}), svg('rect', {width: 3, height: 6, class: 'p-input_wait'}));
  const dots = svg('pattern', {id: id('copy'), width: 5, height: 5, patternUnits: 'userSpaceOnUse'},
    svg('rect', {width: 5, height: 5, class: 'p-h2d'}), svg('circle', {cx: 2.5, cy: 2.5, r: 1.1, class: 'paper'}));
  const fills = {input_wait: `url(#${id('wait')})`, epoch_start: `url(#${id('wait')})`, h2d: `url(#${id('copy')})`};
  return {defs: svg('defs', {}, hatch, dots), fill: (key) => fills[key] || null};
}

const LEVEL_SHAPES = {
  bad: 'M6 1 11.2 10.5H.8Z', warn: 'M6 .8 11.2 6 6 11.2.8 6Z', ok: 'M6 1.2a4.8 4.8 0 1 0 .01 0Z', unknown: 'M2 5h8v2H2Z',
};
const LEVEL_WORDS = {bad: 'waits a lot', warn: 'waits a little', ok: 'fine', unknown: 'no verdict'};

/** A triangle, a diamond, a disc or a dash: the state of a run without its colour. */
export function levelMark(level) {
  const known = Object.hasOwn(LEVEL_SHAPES, level) ? level : 'unknown';
  return svg('svg', {class: 'mark-of l-' + known, viewBox: '0 0 12 12', width: 12, height: 12, role: 'img', 'aria-label': LEVEL_WORDS[known]},
    svg('title', {}, LEVEL_WORDS[known]), svg('path', {d: LEVEL_SHAPES[known]}));
}
