// The top of the page: one sentence, four numbers, one step as a bar.
import {h, num, part, text} from './dom.js';
import {inline} from './markdown.js';
import {ago, count, ms, NOT_MEASURED, number, percent, PHASES, times} from './words.js';

const BOUND = {
  input: 'Waits for input', transfer: 'Waits for copies', compute: 'Busy computing', launch: 'Idles inside the step',
  host: 'Waits between steps', unknown: 'No verdict',
};
const SILENT_SECONDS = 600; // a running run reports at least every 30 s

export function verdictSection(row, report, alone) {
  const verdict = part(report.verdict);
  return h('section', {class: 'verdict l-' + row.level, 'aria-label': 'Verdict'},
    h('div', {class: 'sentence'},
      h('p', {class: 'chips'}, h('span', {class: 'chip l-' + row.level}, BOUND[verdict.bound] || BOUND.unknown), statusChip(report)),
      h('h1', {}, text(verdict.title) || 'No verdict yet'),
      text(verdict.detail) ? h('p', {class: 'detail'}, inline(text(verdict.detail))) : null,
      h('p', {class: 'meta'}, origin(row, report, alone))),
    numbers(report),
    stepBar(report));
}

function statusChip(report) {
  const status = text(report.status);
  if (status === 'running') {
    const silent = Date.now() / 1000 - (num(part(report.run).updated) ?? Infinity) > SILENT_SECONDS;
    return silent ? h('span', {class: 'chip plain'}, 'Running, but silent: it may have been killed')
      : h('span', {class: 'chip plain live'}, 'Running');
  }
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

function numbers(report) {
  const v = part(report.verdict);
  const who = report.clock === 'device' ? 'device waits for input' : 'loop waits for input';
  const figures = [
    [percent(v.stall_ratio), who, 'Share of the measured training time'],
    [ms(v.step_ms), 'per step', 'Median over the measured steps'],
    [number(v.samples_per_s), 'samples per second', 'Over the measured steps'],
    [times(v.ceiling_speedup), 'best possible speed-up', 'The step without any waiting'],
  ];
  return h('dl', {class: 'numbers'}, figures.map(([value, label, hint]) => h('div', {title: hint},
    h('dt', {}, label), h('dd', {class: value === NOT_MEASURED ? 'quiet' : ''}, value))));
}

// The median step, drawn to scale. Segments too thin for words keep their colour and their tooltip.
function stepBar(report) {
  const phases = part(report.phases);
  const known = PHASES.map((phase) => ({...phase, ...part(phases[phase.key])})).filter((phase) => num(phase.share) !== null);
  const whole = known.reduce((sum, phase) => sum + phase.share, 0);
  if (!known.length || !(whole > 0)) return null;
  const missing = PHASES.filter((phase) => !known.some((other) => other.key === phase.key));
  return h('div', {class: 'stepbar'},
    h('div', {class: 'segments'}, known.filter((phase) => phase.share > 0).map((phase) => segment(phase, phase.share / whole))),
    missing.length ? h('p', {class: 'meta'}, `${missing.map((phase) => phase.name).join(' and ')}: ${NOT_MEASURED}`) : null);
}

function segment(phase, share) {
  const label = `${phase.name} ${percent(phase.share)}, ${ms(phase.ms)} per step`;
  return h('div', {class: 'segment', style: {flexGrow: share.toFixed(4)}, title: label, role: 'img', 'aria-label': label},
    h('span', {class: 'block p-' + phase.key}),
    h('span', {class: 'caption'}, h('b', {}, phase.name), h('span', {}, percent(phase.share))));
}

export function refusal(message) {
  return h('section', {class: 'card'}, h('h1', {class: 'plain-title'}, 'This report cannot be shown'), h('p', {}, text(message)));
}

