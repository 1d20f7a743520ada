// Drawings of a run over its steps, in plain SVG: stacked areas, bars for epochs, lines for several runs.
import {num, svg} from './dom.js';
import {ms, number, percent} from './words.js';

const MARGIN = {left: 56, right: 14, top: 24, bottom: 30};
const HEIGHT = 268;

export function niceTicks(low, high, wanted) {
  if (!(high > low)) return [low];
  const raw = (high - low) / Math.max(1, wanted);
  const magnitude = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * magnitude).find((s) => s >= raw * 0.999);
  const ticks = [];
  for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-9; v += step) ticks.push(+v.toPrecision(12));
  return ticks;
}

// One start-up spike must not flatten the rest: the axis ends above the usual steps, and cut spikes are marked.
export function axisTop(totals) {
  const sorted = [...totals].sort((a, b) => a - b);
  const usual = sorted[Math.floor((sorted.length - 1) * 0.9)] || 1;
  const highest = sorted[sorted.length - 1] || 1;
  return highest > usual * 1.7 ? usual * 1.35 : highest * 1.06;
}

/** range: the steps shown; totals: of the points in it, for the height; shares: 0 to 100 % */
export function scalesOf(width, range, totals, shares) {
  const [first, last] = range;
  const top = shares ? 100 : axisTop(totals);
  const inner = {width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom};
  const share = (pixel) => Math.max(0, Math.min(1, (pixel - MARGIN.left) / inner.width));
  return {
    top, width, first, last, shares, left: MARGIN.left, right: MARGIN.left + inner.width, ceiling: MARGIN.top, bottom: MARGIN.top + inner.height,
    x: (step) => MARGIN.left + (last > first ? (step - first) / (last - first) : 0.5) * inner.width,
    y: (value) => MARGIN.top + inner.height - (Math.min(value, top) / top) * inner.height,
    step: (pixel) => first + share(pixel) * (last - first),
  };
}

export function nearestIndex(steps, step) {
  let low = 0, high = steps.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle; else high = middle;
  }
  return step - steps[low] < steps[high] - step ? low : high;
}

let clipsMade = 0;

/** inside: what is drawn between the axes; outside: marks that may stand above them */
export function frameOf(scale, defs, inside, outside) {
  clipsMade += 1;
  const clip = `fw-clip-${clipsMade}`;
  return svg('svg', {viewBox: `0 0 ${scale.width} ${HEIGHT}`, width: scale.width, height: HEIGHT, 'aria-hidden': 'true', class: 'drawing'},
    defs, svg('clipPath', {id: clip}, svg('rect', {x: scale.left, y: scale.ceiling, width: scale.right - scale.left, height: scale.bottom - scale.ceiling})),
    gridLines(scale), svg('g', {'clip-path': `url(#${clip})`}, inside), outside, stepAxis(scale),
    svg('rect', {class: 'brush', y: scale.ceiling, height: scale.bottom - scale.ceiling, width: 0, visibility: 'hidden'}),
    svg('g', {class: 'cursor', visibility: 'hidden'}, svg('line', {y1: scale.ceiling, y2: scale.bottom, class: 'cross'})));
}

function gridLines(scale) {
  return niceTicks(0, scale.top, 5).map((tick) => [
    svg('line', {x1: scale.left, x2: scale.right, y1: scale.y(tick), y2: scale.y(tick), class: tick ? 'grid' : 'base'}),
    svg('text', {x: scale.left - 9, y: scale.y(tick) + 4, class: 'tick', 'text-anchor': 'end'},
      scale.shares ? percent(tick / 100) : tick === 0 ? '0' : ms(tick)),
  ]);
}

function stepAxis(scale) {
  const ticks = niceTicks(scale.first, scale.last, Math.min(8, scale.width / 110)).filter(Number.isInteger);
  return ticks.map((tick) => {
    const x = scale.x(tick), edge = x > scale.right - 20;
    const label = tick === ticks[0] ? `step ${number(tick)}` : number(tick);
    return svg('text', {x, y: scale.bottom + 19, class: 'tick', 'text-anchor': edge ? 'end' : 'middle'}, label);
  });
}

const heightOf = (scale, value, total) => (scale.shares ? (total ? (100 * value) / total : 0) : value);

export function areas(scale, course, totals, fill) {
  let base = new Array(course.steps.length).fill(0);
  return course.layers.map((layer) => {
    const top = base.map((b, i) => b + (layer.values[i] || 0));
    const edge = (values) => values.map((v, i) => `${scale.x(course.steps[i]).toFixed(1)} ${scale.y(heightOf(scale, v, totals[i])).toFixed(1)}`);
    const path = 'M' + edge(top).join('L') + 'L' + edge(base).reverse().join('L') + 'Z';
    base = top;
    return svg('path', {d: path, class: 'area p-' + layer.key, fill: fill(layer.key)});
  });
}

/** One bar per epoch, as wide as the epoch has steps. */
export function epochBars(scale, course, totals, fill) {
  return course.steps.map((step, i) => {
    const from = scale.x(i ? course.steps[i - 1] : step - course.weights[i]), width = Math.max(1, scale.x(step) - from - 2);
    let base = 0;
    return course.layers.map((layer) => {
      const low = base;
      base += layer.values[i] || 0;
      const top = scale.y(heightOf(scale, base, totals[i])), bottom = scale.y(heightOf(scale, low, totals[i]));
      return bottom - top > 0.05 ? svg('rect', {x: from + 1, y: top, width, height: bottom - top, class: 'area p-' + layer.key, fill: fill(layer.key)}) : null;
    });
  });
}

export function lineOf(scale, steps, values, place) {
  const known = steps.map((step, i) => [step, num(values[i])]).filter(([, value]) => value !== null);
  const points = known.map(([step, value]) => `${scale.x(step).toFixed(1)} ${scale.y(value).toFixed(1)}`);
  return svg('path', {d: 'M' + points.join('L'), class: `line run-${place}`});
}

// A label that would touch the one before it is left out. Its line stays.
export function epochMarks(scale, marks) {
  let free = -Infinity;
  const inside = marks.filter((mark) => mark.step >= scale.first && mark.step <= scale.last);
  const crowded = inside.length > scale.width / 14;
  return inside.map((mark) => {
    const x = scale.x(mark.step);
    const needed = mark.label.length * 6 + 14;
    const fits = x >= free && x + needed < scale.right + 10;
    if (fits) free = x + needed;
    if (crowded && !fits) return null;
    return [svg('line', {x1: x, x2: x, y1: fits ? scale.ceiling - 10 : scale.ceiling, y2: scale.bottom, class: 'mark'}),
      fits ? svg('text', {x: x + 5, y: scale.ceiling - 5, class: 'tick'}, mark.label) : null];
  });
}

export function cutSpikes(scale, steps, totals) {
  if (scale.shares) return null;
  return totals.map((total, i) => {
    if (total <= scale.top || steps[i] < scale.first || steps[i] > scale.last) return null;
    const x = scale.x(steps[i]), y = scale.ceiling;
    return svg('path', {d: `M${x - 4} ${y + 6}L${x} ${y}L${x + 4} ${y + 6}Z`, class: 'cut'}, svg('title', {}, ms(total)));
  });
}
