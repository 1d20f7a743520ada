// A stacked area of step time in plain SVG.
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

/** steps: [int], layers: [{key, values: [ms | null]}] with the lowest first */
export function scales(width, steps, layers, shares) {
  const totals = steps.map((_, i) => layers.reduce((sum, layer) => sum + (num(layer.values[i]) || 0), 0));
  const top = shares ? 100 : axisTop(totals);
  const inner = {width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom};
  const first = steps[0], last = steps[steps.length - 1];
  return {
    totals, top, width, first, last, shares,
    x: (step) => MARGIN.left + (last > first ? (step - first) / (last - first) : 0.5) * inner.width,
    y: (value) => MARGIN.top + inner.height - (Math.min(value, top) / top) * inner.height,
    value: (v, i) => (shares ? (totals[i] ? (100 * v) / totals[i] : 0) : v),
    right: MARGIN.left + inner.width, bottom: MARGIN.top + inner.height,
    nearest(pixel) {
      const step = first + ((pixel - MARGIN.left) / inner.width) * (last - first);
      return nearestIndex(steps, step);
    },
  };
}

function nearestIndex(steps, step) {
  let low = 0, high = steps.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (steps[middle] < step) low = middle; else high = middle;
  }
  return step - steps[low] < steps[high] - step ? low : high;
}

export function drawChart(scale, steps, layers, marks) {
  return svg('svg', {viewBox: `0 0 ${scale.width} ${HEIGHT}`, width: scale.width, height: HEIGHT, 'aria-hidden': 'true'},
    gridLines(scale), areas(scale, steps, layers), epochMarks(scale, marks), cutSpikes(scale, steps), stepAxis(scale),
    svg('g', {class: 'cursor', visibility: 'hidden'},
      svg('line', {y1: MARGIN.top, y2: scale.bottom, class: 'cross'})));
}

function gridLines(scale) {
  return niceTicks(0, scale.top, 5).map((tick) => [
    svg('line', {x1: MARGIN.left, x2: scale.right, y1: scale.y(tick), y2: scale.y(tick), class: tick ? 'grid' : 'base'}),
    svg('text', {x: MARGIN.left - 9, y: scale.y(tick) + 4, class: 'tick', 'text-anchor': 'end'},
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

function areas(scale, steps, layers) {
  let base = new Array(steps.length).fill(0);
  return layers.map((layer) => {
    const top = base.map((b, i) => b + (num(layer.values[i]) || 0));
    const edge = (values) => values.map((v, i) => `${scale.x(steps[i]).toFixed(1)} ${scale.y(scale.value(v, i)).toFixed(1)}`);
    const path = 'M' + edge(top).join('L') + 'L' + edge(base).reverse().join('L') + 'Z';
    base = top;
    return svg('path', {d: path, class: 'area p-' + layer.key});
  });
}

// A label that would touch the one before it is left out. Its line stays.
function epochMarks(scale, marks) {
  let free = -Infinity;
  const inside = marks.filter((mark) => mark.step >= scale.first && mark.step <= scale.last);
  const crowded = inside.length > scale.width / 14;
  return inside.map((mark) => {
    const x = scale.x(mark.step);
    const needed = mark.label.length * 6 + 14;
    const fits = x >= free && x + needed < scale.right + 10;
    if (fits) free = x + needed;
    if (crowded && !fits) return null;
    return [svg('line', {x1: x, x2: x, y1: fits ? MARGIN.top - 10 : MARGIN.top, y2: scale.bottom, class: 'mark'}),
      fits ? svg('text', {x: x + 5, y: MARGIN.top - 5, class: 'tick'}, mark.label) : null];
  });
}

function cutSpikes(scale, steps) {
  if (scale.shares) return null;
  return scale.totals.map((total, i) => {
    if (total <= scale.top) return null;
    const x = scale.x(steps[i]), y = MARGIN.top;
    return svg('path', {d: `M${x - 4} ${y + 6}L${x} ${y}L${x + 4} ${y + 6}Z`, class: 'cut'}, svg('title', {}, ms(total)));
  });
}
