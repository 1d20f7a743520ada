// The card that shows why: loading and computing of a few steps side by side, and the same steps under the first change.
import {card, h, list, num, part, text} from './dom.js';
import {copyButton} from './clipboard.js';
import {saveButtons, svgText} from './export.js';
import {foreseen} from './foresee.js';
import {excerptOf, laneRows, LaneView, longestName} from './lanes.js';
import {switchOf} from './plot.js';
import {count, ms, number, PARTS} from './words.js';

const TITLES = {last: 'What happened in the last steps', slowest: 'What happened around the slowest step', picked: 'What happened around the picked step'};
const SHOWN_MS = 5; // below this share of a step in per cent a wait is not worth a sentence

const shownSteps = {run: null, which: 'last', near: null};

/** → {element, pick(step)}: the steps nearest to a place in the chart. Null where no step was kept. */
export function timelineCard(report, run) {
  const kept = list(part(report.timeline).excerpts).map(excerptOf).filter(Boolean);
  if (!kept.length) return null;
  if (shownSteps.run !== run) Object.assign(shownSteps, {run, which: 'last', near: null});
  const body = h('div', {class: 'timeline'});
  const box = card(TITLES.last, null, body);
  const draw = () => fillCard(box, body, report, chosenOf(kept), kept, draw);
  draw();
  return {element: box, pick(step) { Object.assign(shownSteps, {which: 'picked', near: step}); draw(); box.scrollIntoView({block: 'nearest'}); }};
}

const middleOf = (excerpt) => (excerpt.steps[0] + excerpt.steps[excerpt.steps.length - 1]) / 2;

function chosenOf(kept) {
  if (shownSteps.which === 'picked') return kept.reduce((a, b) => (Math.abs(middleOf(b) - shownSteps.near) < Math.abs(middleOf(a) - shownSteps.near) ? b : a));
  return kept.find((excerpt) => excerpt.why === shownSteps.which) || kept[0];
}

function fillCard(box, body, report, excerpt, kept, draw) {
  const after = underChange(report, excerpt), drawn = [excerpt, ...(after ? [after.excerpt] : [])];
  const shared = {length: Math.max(...drawn.map((each) => each.wall)), longest: longestName(drawn)};
  const now = new LaneView(excerpt, shared, 'The steps as they were'), then = after ? new LaneView(after.excerpt, shared, 'The same steps with the change') : null;
  box.querySelector('h2').textContent = TITLES[shownSteps.which];
  box.querySelectorAll('.card-head .switch, .card-head .saves').forEach((old) => old.remove());
  const choices = [['last', 'Last steps', 'The end of what was measured']];
  if (kept.some((each) => each.why === 'slowest')) choices.push(['slowest', 'Slowest step', 'And its neighbours']);
  if (shownSteps.near !== null) choices.push(['picked', `Near step ${number(Math.round(shownSteps.near))}`, 'The recorded steps that are nearest to the place picked in the chart']);
  const titles = [`As it was: ${stepsWords(excerpt)} in ${ms(excerpt.wall)}`,
    ...(after ? [`With the change, ${after.label}: ${count(excerpt.steps.length, 'step')} in ${ms(after.excerpt.wall)}`] : [])];
  const tables = [['as it was', excerpt], ...(after ? [[after.label, after.excerpt]] : [])], key = keyOf(drawn);
  const pictures = () => ({drawings: titles.map((title, i) => [title, [now, then][i].drawing]), key: key.map(([name, meaning]) => ['p-' + name, meaning])});
  box.querySelector('.card-head').append(
    choices.length > 1 ? switchOf('Steps shown', choices, shownSteps.which, (wanted) => { shownSteps.which = wanted; draw(); }) : '',
    saveButtons('the timeline', 'feedwatch-timeline', pictures, () => laneRows(tables),
      copyButton(() => svgText(pictures(), 'feedwatch timeline'), 'Copy SVG', 'small')));
  body.replaceChildren(
    h('p', {}, whatIsSeen(excerpt)),
    h('h3', {}, 'As it was: ', h('span', {class: 'sub'}, `${stepsWords(excerpt)} in ${ms(excerpt.wall)}`)), now.element,
    ...(after ? [h('h3', {}, 'With the change: ', after.title, ' ', h('span', {class: 'chip plain'}, after.label),
      h('span', {class: 'sub'}, ` ${count(excerpt.steps.length, 'step')} in ${ms(after.excerpt.wall)}`)), then.element] : []),
    h('p', {class: 'key'}, key.map(([name, meaning]) => h('span', {}, h('span', {class: 'swatch p-' + name}), meaning))), h('p', {class: 'foot'}, footOf(report, excerpt, after)));
}

const stepsWords = (excerpt) => (excerpt.steps.length === 1 ? `step ${number(excerpt.steps[0])}` : `steps ${number(excerpt.steps[0])} to ${number(excerpt.steps[excerpt.steps.length - 1])}`);

function whatIsSeen(excerpt) {
  const loop = excerpt.lanes.find((lane) => lane.kind === 'loop');
  const waits = loop.spans.filter((span) => span.key === 'input_wait').reduce((sum, span) => sum + span.took, 0);
  const steps = excerpt.steps.length, each = ms(excerpt.wall / steps);
  if (!loop.spans.some((span) => span.key === 'input_wait')) return `A step takes ${each} here; when its batch was fetched was not seen.`;
  if ((100 * waits) / excerpt.wall < SHOWN_MS) return `A step takes ${each} here, and its batch is nearly always there: ${ms(waits / steps)} of it is waiting.`;
  return `${ms(waits / steps)} of ${each} per step pass without a batch.`;
}

// A trial is the change itself; without one, the model's word is what there is, and is called that.
function underChange(report, excerpt) {
  const first = part(list(report.findings)[0]), tried = triedFor(report, first), pace = paceOf(part(first.gain).pace);
  if ((!pace && !tried) || severalBatches(report)) return null;
  // A trial knows how long a step took and how long it waited, not who made the batches when.
  const means = tried ? {batch_ms: tried.step_ms, step_ms: tried.step_ms * (1 - tried.wait_share)} : {};
  const made = foreseen(excerpt, {stages: [], ahead: false, ...pace, ...means}, part(report.pipeline).kind === 'dataloader', usualRest(report));
  return {title: text(first.title).replaceAll('`', ''), label: tried ? 'measured mean' : 'predicted', excerpt: {...made, steps: excerpt.steps}};
}

/** What a trial measured of this change: the setting that it picked, else the one that was advised. */
function triedFor(report, finding) {
  const rows = list(part(report.trial).rows).map(part).filter((row) => list(row.codes).includes(finding.code) && num(row.step_ms) > 0 && num(row.wait_share) !== null);
  return rows.find((row) => row.name === report.trial.picked) || rows.find((row) => row.advised === true || row.advised === undefined);
}

// The model speaks of single batches.
function severalBatches(report) {
  const steps = part(report.steps);
  return num(steps.batches) > 1.5 * ((num(steps.measured) ?? 0) + (num(steps.warmup) ?? 0) + (num(steps.dropped) ?? 0));
}

/** What a step takes besides waiting, on average; null where nobody counted. */
function usualRest(report) {
  const parts = part(part(report.account).parts), rest = ['h2d', 'compute', 'other'].reduce((sum, key) => sum + (num(part(parts[key]).ms) ?? 0), 0);
  return rest > 0 ? rest : null;
}

function paceOf(value) {
  const raw = part(value), stages = list(raw.stages).map(part).map((stage) => ({name: text(stage.name).slice(0, 60), ms: num(stage.ms), lanes: num(stage.lanes)}));
  if (!(num(raw.batch_ms) > 0) || num(raw.step_ms) === null || stages.length > 8 || stages.some((stage) => !(stage.ms >= 0) || !(stage.lanes >= 0.5 && stage.lanes <= 64))) return null;
  return {batch_ms: raw.batch_ms, step_ms: raw.step_ms, ahead: raw.ahead === true, stages};
}

function keyOf(excerpts) {
  const used = new Set(excerpts.flatMap((excerpt) => excerpt.lanes.flatMap((lane) => lane.spans.map((span) => span.key))));
  return [['load', 'a batch is made (its number in the epoch)'], ...PARTS.map((phase) => [phase.key, phase.name.toLowerCase()])].filter(([name]) => used.has(name));
}

function footOf(report, excerpt, after) {
  const words = [];
  if (shownSteps.which === 'picked') words.push(`Single steps are kept in a few places of a run; these are the nearest to step ${number(Math.round(shownSteps.near))}.`);
  if (excerpt.lanes.some((lane) => lane.kind === 'stage')) words.push('tf.data tells how long its stages take for a batch, not when: their lanes are an estimate.');
  if (excerpt.lanes.some((lane) => lane.kind === 'device')) words.push("The device's lane is on its own clock.");
  if (part(report.pipeline).kind === 'dataloader' && !excerpt.lanes.some((lane) => ['worker', 'loading'].includes(lane.kind))) words.push('When the workers made these batches was not kept.');
  if (!after && paceOf(part(part(list(report.findings)[0]).gain).pace) && severalBatches(report)) words.push('A step takes several batches here. The model speaks of single ones, so there is no picture of the change.');
  if (after) words.push(after.label === 'predicted' ? 'The second picture is calculated by the model of the supply from the times of this run.' : 'The second picture is drawn from the means that a trial measured.');
  return words.join(' ');
}
