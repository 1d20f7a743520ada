// The user's own input pipeline: stages with the bottleneck, workers, settings.
import {bar, card, h, list, num, part, text} from './dom.js';
import {count, ms, number, percent, times} from './words.js';

const KIND = {
  'tf.data': 'tf.data', dataloader: 'DataLoader', pydataset: 'Keras PyDataset', generator: 'Python generator', arrays: 'arrays in memory',
};
const SHOWN_WORKERS = 12;

export function pipelineCard(report) {
  const pipeline = part(report.pipeline);
  const stages = list(pipeline.stages).map(part), settings = Object.entries(part(pipeline.settings));
  if (!stages.length && !settings.length) return null;
  return card('Input pipeline', headroom(report, KIND[pipeline.kind]),
    stages.length ? stageList(stages, holdsUp(report)) : null,
    settings.length ? h('p', {class: 'settings'}, settings.map(([key, value]) => h('code', {}, `${key} = ${shown(value)}`))) : null);
}

const PYTHON = new Map([[null, 'None'], [true, 'True'], [false, 'False']]);
const shown = (value) => PYTHON.get(value) ?? (typeof value === 'object' ? '…' : String(value));

function headroom(report, kind) {
  const room = num(part(report.verdict).headroom);
  if (room === null) return kind || null;
  const words = room < 1 ? `supplies ${percent(room)} of what the step could take` : `could feed a step ${times(room)} as fast`;
  return `${kind || 'The pipeline'} ${words}`;
}

// An input that could feed a faster step has a longest stage, but no bottleneck.
function holdsUp(report) {
  const verdict = part(report.verdict);
  return verdict.bound === 'input' && !(num(verdict.headroom) >= 1);
}

// Red means waiting for input, everywhere: what makes the batches has a colour of its own, and is no alarm by itself.
function stageList(stages, waits) {
  const longest = Math.max(...stages.map((stage) => num(stage.ms_per_batch) || 0), 1e-9);
  return h('ol', {class: 'rows'}, stages.map((stage) => h('li', {class: 'row stage' + (stage.bottleneck === true ? ' hot' : '')},
    h('span', {class: 'who', title: `${text(stage.name)} ${text(stage.detail)}`},
      h('b', {}, text(stage.name)), ' ', h('span', {class: 'sub'}, text(stage.detail))),
    bar((num(stage.ms_per_batch) || 0) / longest, 'p-load'),
    h('span', {class: 'n' + (num(stage.ms_per_batch) === null ? ' quiet' : '')}, ms(stage.ms_per_batch)),
    h('span', {class: 'remark'}, stage.bottleneck === true ? h('span', {class: 'chip plain'}, waits ? 'bottleneck' : 'longest') : null, stageRemark(stage)))));
}

function stageRemark(stage) {
  const words = [];
  if (num(stage.parallelism) !== null) words.push(`× ${number(stage.parallelism)}${stage.tunable === true ? ' auto' : ''}`);
  if (num(stage.buffer) !== null) words.push(`buffer ${percent(stage.buffer)} full`);
  return words.join(' · ');
}

export function workersCard(report) {
  const workers = list(part(report.pipeline).workers).map(part);
  if (!workers.length) return null;
  const busy = (worker) => (num(worker.fetch_ms) || 0) + (num(worker.collate_ms) || 0);
  const longest = Math.max(...workers.map(busy), 1e-9);
  const rows = workers.map((worker) => workerRow(worker, longest));
  const note = `${count(workers.length, 'worker')}, time per batch`;
  return card('Workers', note, workerLegend(),
    h('ol', {class: 'rows'}, rows.slice(0, SHOWN_WORKERS)),
    rows.length > SHOWN_WORKERS ? h('details', {}, h('summary', {}, `The other ${number(rows.length - SHOWN_WORKERS)}`),
      h('ol', {class: 'rows'}, rows.slice(SHOWN_WORKERS))) : null);
}

const workerLegend = () => h('p', {class: 'key'},
  h('span', {}, h('span', {class: 'swatch p-load'}), 'reading items'), h('span', {}, h('span', {class: 'swatch p-load light'}), 'collating'));

function workerRow(worker, longest) {
  const width = (value) => (((num(value) || 0) / longest) * 100).toFixed(2) + '%';
  const parts = [['cpu_share', 'computing'], ['core_wait_share', 'waiting for a core'], ['blocked_share', 'blocked']]
    .filter(([key]) => num(worker[key]) !== null).map(([key, words]) => `${percent(worker[key])} ${words}`);
  const known = num(worker.fetch_ms) !== null || num(worker.collate_ms) !== null;
  return h('li', {class: 'row worker', title: parts.join(', ')},
    h('span', {class: 'who'}, `Worker ${number(worker.id)}`),
    h('span', {class: 'bar', 'aria-hidden': 'true'},
      h('span', {class: 'fill p-load', style: {width: width(worker.fetch_ms)}}),
      h('span', {class: 'fill p-load light', style: {width: width(worker.collate_ms)}})),
    h('span', {class: 'n'}, known ? ms((num(worker.fetch_ms) || 0) + (num(worker.collate_ms) || 0)) : ms(null)),
    h('span', {class: 'remark'}, num(worker.idle_share) === null ? '' : `idle ${percent(worker.idle_share)}`));
}
