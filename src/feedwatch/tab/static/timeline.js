// The card that shows why: loading and computing of a few steps side by side, and the same steps under the first change.
import {card, h, list, num, part, text} from './dom.js';
import {copyButton} from './clipboard.js';
import {saveButtons, svgText} from './export.js';
import {foreseen} from './foresee.js';
import {excerptOf, laneRows, LaneView} from './lanes.js';
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
  const after = underChange(report, excerpt), length = Math.max(excerpt.wall, after ? after.excerpt.wall : 0);
  const now = new LaneView(excerpt, length, 'The steps as they were'), then = after ? new LaneView(after.excerpt, length, 'The same steps with the change') : null;
  box.querySelector('h2').textContent = TITLES[shownSteps.which];
  box.querySelectorAll('.card-head .switch, .card-head .saves').forEach((old) => old.remove());
  const choices = [['last', 'Last steps', 'The end of what was measured']];
  if (kept.some((each) => each.why === 'slowest')) choices.push(['slowest', 'Slowest step', 'And its neighbours']);
  if (shownSteps.near !== null) choices.push(['picked', `Near step ${number(Math.round(shownSteps.near))}`, 'The recorded steps that are nearest to the place picked in the chart']);
  const pictures = () => [['as it was', excerpt], ...(after ? [[after.label, after.excerpt]] : [])];
  box.querySelector('.card-head').append(
    choices.length > 1 ? switchOf('Steps shown', choices, shownSteps.which, (wanted) => { shownSteps.which = wanted; draw(); }) : '',
    saveButtons('the timeline', 'feedwatch-timeline', () => now.drawing, () => laneRows(pictures()),
      copyButton(() => svgText(now.drawing, 'feedwatch timeline'), 'Copy SVG', 'small')));
  body.replaceChildren(
    h('p', {}, whatIsSeen(excerpt)),
    h('h3', {}, 'As it was', h('span', {class: 'sub'}, ` ${stepsWords(excerpt)} in ${ms(excerpt.wall)}`)), now.element,
    ...(after ? [h('h3', {}, 'With the change: ', after.title, ' ', h('span', {class: 'chip plain'}, after.label),
      h('span', {class: 'sub'}, ` ${count(excerpt.steps.length, 'step')} in ${ms(after.excerpt.wall)}`)), then.element] : []),
    laneKey([excerpt, ...(after ? [after.excerpt] : [])]), h('p', {class: 'foot'}, footOf(report, excerpt, after)));
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
  const first = part(list(report.findings)[0]), gain = part(first.gain), pace = paceOf(gain.pace);
  if (!pace) return null;
  const workers = part(report.pipeline).kind === 'dataloader';
  const tried = list(part(report.trial).rows).map(part).find((row) => (row.advised === true || row.advised === undefined) && list(row.codes).includes(first.code) && num(row.step_ms) > 0 && num(row.wait_share) !== null);
  const used = tried ? {...pace, batch_ms: tried.step_ms, step_ms: tried.step_ms * (1 - tried.wait_share)} : pace;
  const made = foreseen(excerpt, used, workers);
  return {title: text(first.title).replaceAll('`', ''), label: tried ? 'measured mean' : 'predicted', excerpt: {...made, steps: excerpt.steps}};
}

function paceOf(value) {
  const raw = part(value), stages = list(raw.stages).map(part).map((stage) => ({name: text(stage.name).slice(0, 60), ms: num(stage.ms), lanes: num(stage.lanes)}));
  if (!(num(raw.batch_ms) > 0) || num(raw.step_ms) === null || stages.length > 8 || stages.some((stage) => !(stage.ms >= 0) || !(stage.lanes >= 0.5 && stage.lanes <= 64))) return null;
  return {batch_ms: raw.batch_ms, step_ms: raw.step_ms, ahead: raw.ahead === true, stages};
}

function laneKey(excerpts) {
  const used = new Set(excerpts.flatMap((excerpt) => excerpt.lanes.flatMap((lane) => lane.spans.map((span) => span.key))));
  const words = [['load', 'a batch is made (its number in the epoch)'], ...PARTS.map((phase) => [phase.key, phase.name.toLowerCase()])].filter(([name]) => used.has(name));
  return h('p', {class: 'key'}, words.map(([name, meaning]) => h('span', {}, h('span', {class: 'swatch p-' + name}), meaning)));
}

function footOf(report, excerpt, after) {
  const words = [];
  if (shownSteps.which === 'picked') words.push(`Single steps are kept in a few places of a run; these are the nearest to step ${number(Math.round(shownSteps.near))}.`);
  if (excerpt.lanes.some((lane) => lane.kind === 'stage')) words.push('tf.data tells how long its stages take for a batch, not when: their lanes are an estimate.');
  if (excerpt.lanes.some((lane) => lane.kind === 'device')) words.push("The device's lane is on its own clock.");
  if (part(report.pipeline).kind === 'dataloader' && !excerpt.lanes.some((lane) => ['worker', 'loading'].includes(lane.kind))) words.push('When the workers made these batches was not kept.');
  if (after) words.push(after.label === 'predicted' ? 'The second picture is calculated by the model of the supply from the times of this run.' : 'The second picture is drawn from the means that a trial measured.');
  return words.join(' ');
}
