// The course of a run as the chart takes it: points of some steps each, or whole epochs.
import {list, num, part, text} from './dom.js';
import {PHASES} from './words.js';

/** {steps, weights, layers: [{key, name, values}], marks}; a point covers the steps since the point before it */
export function courseOf(report) {
  const series = part(report.series);
  const steps = list(series.step).filter((step) => num(step) !== null);
  const layers = PHASES.map((phase) => ({...phase, values: list(series[phase.key]).map(num)}))
    .filter((layer) => layer.values.some((value) => value !== null));
  const marks = list(series.marks).map(part).filter((mark) => num(mark.step) !== null)
    .map((mark) => ({step: mark.step, label: text(mark.label).slice(0, 24)}));
  return {steps, weights: weightsOf(steps), layers, marks};
}

const weightsOf = (steps) => steps.map((step, i) => Math.max(1, step - (i ? steps[i - 1] : Math.min(step - 1, 0))));

export const stepTotals = (course) => course.steps.map((_, i) => course.layers.reduce((sum, layer) => sum + (layer.values[i] || 0), 0));

/** The same run with one point per epoch: means over its points, each weighed by its steps. */
export function byEpoch(course) {
  const starts = course.marks.map((mark) => mark.step);
  const epochOf = (step) => starts.filter((start) => start < step).length;
  const groups = new Map();
  course.steps.forEach((step, i) => {
    const epoch = epochOf(step);
    groups.set(epoch, [...(groups.get(epoch) || []), i]);
  });
  const members = [...groups.values()];
  const labels = [...groups.keys()].map((epoch) => (epoch ? course.marks[epoch - 1].label : starts.length ? 'start' : 'run'));
  return {
    steps: members.map((group) => course.steps[group[group.length - 1]]),
    weights: members.map((group) => group.reduce((sum, i) => sum + course.weights[i], 0)),
    layers: course.layers.map((layer) => ({...layer, values: members.map((group) => weighedMean(layer.values, course.weights, group))})),
    marks: [], labels,
  };
}

function weighedMean(values, weights, places) {
  const known = places.filter((i) => num(values[i]) !== null);
  const weight = known.reduce((sum, i) => sum + weights[i], 0);
  return weight ? known.reduce((sum, i) => sum + values[i] * weights[i], 0) / weight : null;
}

/** What the shown part of a run took per step, on average. A point counts by those of its steps that are shown. */
export function meanStep(course, range) {
  const [from, to] = range || [-Infinity, Infinity];
  const shares = course.steps.map((step, i) => Math.max(0, Math.min(to, step) - Math.max(from - 1, step - course.weights[i])));
  const places = shares.map((_, i) => i).filter((i) => shares[i] > 0);
  const means = course.layers.map((layer) => weighedMean(layer.values, shares, places));
  return {points: places.length, total: means.reduce((sum, value) => sum + (value || 0), 0)};
}

export function courseRows(course) {
  const head = ['step', ...course.layers.map((layer) => `${layer.key}_ms`)];
  return [head, ...course.steps.map((step, i) => [step, ...course.layers.map((layer) => layer.values[i])])];
}
