// What happens once per run or epoch, what feedwatch itself costs, and what was not measured.
import {card, h, list, num, part, text} from './dom.js';
import {figure} from './machine.js';
import {inline} from './markdown.js';
import {tooEarly} from './status.js';
import {count, ms, number, percent, PHASES} from './words.js';

export function onceCard(report) {
  const startup = part(report.startup), epochs = part(report.epoch_boundary);
  const known = [startup.first_step_ms, epochs.median_ms].some((value) => num(value) !== null);
  if (!known) return null;
  const pipeline = part(report.pipeline), starting = pipeline.kind === 'dataloader' && part(pipeline.settings).num_workers !== 0 ? 'Starting workers' : 'Opening the pipeline';
  return card('Start-up and epochs', 'the first step is not part of the figures above',
    h('dl', {class: 'figures'},
      figure('First step', ms(startup.first_step_ms), num(startup.tracing_ms) === null ? null : `${ms(startup.tracing_ms)} of it tracing and compiling`),
      figure('Between epochs', ms(epochs.median_ms), num(epochs.count) ? `median of ${count(epochs.count, 'boundary', 'boundaries')}` : null),
      report.account || num(epochs.share) === null ? null : figure('Share of the run', percent(epochs.share), 'lost between epochs'), // else it is in the account
      num(epochs.loader_start_ms) === null ? null : figure(starting, ms(epochs.loader_start_ms), 'per epoch'),
      num(epochs.first_fetch_ms) === null ? null : figure('First batch', ms(epochs.first_fetch_ms), 'per epoch')));
}

export function costCard(report) {
  const cost = part(report.self), steps = part(report.steps);
  const left = [[steps.warmup, 'warm-up'], [steps.dropped, 'not trusted']].filter(([n]) => num(n))
    .map(([n, words]) => `${number(n)} ${words}`);
  return card('This measurement', null,
    h('dl', {class: 'figures'},
      tooEarly(report) ? null : figure('Feedwatch itself', percent(cost.overhead_ratio), 'of the training time, at most'),
      figure('Per step', ms(num(cost.us_per_step) === null ? null : cost.us_per_step / 1000), 'on the training thread'),
      num(part(report.startup).own_ms) === null ? null : figure('Once, at the start', ms(report.startup.own_ms), 'opening the run, and the first report'),
      figure('Steps', number(steps.measured), left.length ? 'left out: ' + left.join(', ') : 'none left out'),
      num(cost.profiler_windows) === null ? null : figure('Profiler windows', number(cost.profiler_windows), dropped(cost))),
    notMeasured(report));
}

const dropped = (cost) => (num(cost.dropped_windows) ? `${count(cost.dropped_windows, 'window')} dropped` : null);

function notMeasured(report) {
  const phases = part(report.phases);
  const gaps = PHASES.filter((phase) => num(part(phases[phase.key]).ms) === null).map((phase) => phase.name);
  if (!report.transfers) gaps.push('copies as the profiler sees them');
  if (!report.device) gaps.push('the device itself');
  const notes = list(part(report.self).notes).map(text).filter(Boolean);
  if (!gaps.length && !notes.length) return null;
  return h('div', {class: 'gaps'}, h('h3', {}, 'Not measured'),
    gaps.length ? h('p', {}, gaps.join(', ') + '.') : null,
    notes.length ? h('ul', {}, notes.map((note) => h('li', {}, inline(note)))) : null);
}
