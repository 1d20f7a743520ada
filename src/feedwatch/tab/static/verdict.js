// The top of the page: one sentence, four numbers, one step as a bar.
import {h, num, part, text} from './dom.js';
import {inline} from './markdown.js';
import {levelMark} from './patterns.js';
import {statusOf, tooEarly} from './status.js';
import {ago, count, ms, NOT_MEASURED, number, PARTS, percent, PHASES, times, timesBetween} from './words.js';

const BOUND = {
  input: 'Waits for input', transfer: 'Waits for copies', compute: 'Busy computing', launch: 'Idles inside the step',
  host: 'Waits between steps', unknown: 'No verdict',
};
export function verdictSection(row, report, alone) {
  const verdict = part(report.verdict);
  return h('section', {class: 'verdict l-' + row.level, 'aria-label': 'Verdict'},
    h('div', {class: 'sentence'},
      h('p', {class: 'chips'}, h('span', {class: 'chip l-' + row.level}, levelMark(row.level), BOUND[verdict.bound] || BOUND.unknown), statusChip(row)),
      h('h1', {}, text(verdict.title) || 'No verdict yet'),
      text(verdict.detail) ? h('p', {class: 'detail'}, inline(text(verdict.detail))) : null,
      h('p', {class: 'meta'}, origin(row, report, alone))),
    numbers(report),
    stepBar(report));
}

function statusChip(row) {
  const status = statusOf(row);
  if (status === 'stale') return h('span', {class: 'chip plain stale'}, 'No news for a while: it may have been killed');
  if (status === 'running') return h('span', {class: 'chip plain live'}, 'Running');
  if (status === 'failed') return h('span', {class: 'chip l-bad'}, 'The training failed');
  if (status === 'interrupted') return h('span', {class: 'chip plain'}, 'Interrupted');
  return null;
}

function origin(row, report, alone) {
  const run = part(report.run), steps = part(report.steps);
  const framework = [text(run.framework), text(run.version)].filter(Boolean).join(' ');
  const where = [alone ? text(row.run) : null, framework && framework[0].toUpperCase() + framework.slice(1), text(run.backend), text(run.device)];
  if (num(run.world_size) > 1) where.push(`rank ${number(run.rank)} of ${number(run.world_size)}`);
  if (num(steps.measured) !== null) where.push(`${count(steps.measured, 'step')} measured`);
  where.push(report.clock === 'device' ? 'device clock' : 'host clock');
  const updated = ago(run.updated);
  if (updated) where.push('last report ' + updated);
  return where.filter(Boolean).join('  ·  ');
}

// An estimate, unless a trial measured it.
function ceiling(report) {
  const measured = timesBetween(part(part(report.trial).ceiling));
  if (measured) return [measured, 'at most, measured', 'Measured with one batch in memory'];
  return [times(part(report.verdict).ceiling_speedup), 'best possible, estimated', 'The run with every batch in memory'];
}

function numbers(report) {
  const v = part(report.verdict);
  const who = report.clock === 'device' ? 'device waits for input' : 'loop waits for input';
  const figures = [
    [percent(v.stall_ratio), who, 'Share of the measured training time'],
    [ms(v.step_ms), 'per step, on average', 'Mean of the measured steps'],
    [number(v.samples_per_s), 'samples per second', 'Over the measured steps'],
    ceiling(report),
  ];
  // Without a verdict a figure that is missing was not forgotten: there are too few steps for it.
  const shown = (value) => (value === NOT_MEASURED && tooEarly(report) ? 'too early' : value);
  return h('dl', {class: 'numbers'}, figures.map(([value, label, hint]) => h('div', {title: hint},
    h('dt', {}, label), h('dd', {class: value === NOT_MEASURED ? 'quiet' : ''}, shown(value)))));
}

// The mean batch, drawn to scale: its parts add up. Segments too thin for words keep their shape
// and their tooltip. Reports of the first schema know only their steps.
function stepBar(report) {
  const parts = part(part(report.account).parts), phases = part(report.phases), whole = Object.keys(parts).length > 0;
  const known = (whole ? PARTS : PHASES).map((phase) => ({...phase, ...part(whole ? parts[phase.key] : phases[phase.key])})).filter((phase) => num(phase.share) !== null);
  const total = known.reduce((sum, phase) => sum + phase.share, 0);
  if (!known.length || !(total > 0)) return null;
  const missing = PHASES.filter((phase) => !known.some((other) => other.key === phase.key));
  return h('div', {class: 'stepbar'},
    h('div', {class: 'segments'}, known.filter((phase) => phase.share > 0).map((phase) => segment(phase, phase.share / total, whole ? 'batch' : 'step'))),
    h('p', {class: 'meta'}, [whole ? `${tooEarly(report) ? `So far, over ${count(part(report.steps).measured, 'step')}: one` : 'One'} batch takes ${ms(part(report.account).batch_ms)} on average, with its part of epoch starts, validation and pauses.` : '',
      missing.length ? `${missing.map((phase) => phase.name).join(' and ')}: ${NOT_MEASURED}.` : ''].filter(Boolean).join(' ')));
}

function segment(phase, share, each) {
  const label = `${phase.name} ${percent(phase.share)}, ${ms(each === 'batch' ? num(phase.ms) : num(phase.mean_ms) ?? phase.ms)} per ${each}`;
  return h('div', {class: 'segment', style: {flexGrow: share.toFixed(4)}, title: label, role: 'img', 'aria-label': label},
    h('span', {class: 'block p-' + phase.key}),
    h('span', {class: 'caption'}, h('b', {}, phase.name), h('span', {}, percent(phase.share))));
}

export function missingRun(name) {
  return h('section', {class: 'card'}, h('h1', {class: 'plain-title'}, `There is no run ${name || '.'} here`),
    h('p', {}, 'The address names it, but this log directory has no feedwatch report of it: it was deleted, renamed, or not loaded yet. The list of runs has what is there.'));
}

export function refusal(message) {
  return h('section', {class: 'card'}, h('h1', {class: 'plain-title'}, 'This report cannot be shown'), h('p', {}, text(message)));
}

