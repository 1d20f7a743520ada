// The trial: every variant that was tried, its time per batch as a bar beside the run as it is.
import {bar, breakable, card, h, list, num, part, text} from './dom.js';
import {count, ms, percent, times, timesBetween} from './words.js';

export function trialCard(report) {
  const trial = part(report.trial), rows = list(trial.rows).map(part);
  if (!rows.length) return null;
  const longest = Math.max(...rows.map((row) => num(row.step_ms) || 0)) || 1;
  return card('Measured in turns', trialAnswer(trial, rows),
    h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'What was tried'}, h('table', {class: 'figures-table tried'},
      h('thead', {}, h('tr', {}, ['Tried', 'Batch', 'Side by side', 'Speed', 'Predicted'].map((name) => h('th', {scope: 'col'}, name)))),
      h('tbody', {}, rows.map((row) => trialRow(row, row.name === trial.picked, longest))))),
    list(trial.notes).map((note) => h('p', {class: 'note'}, text(note))));
}

// The words of the console (report/trial.py).
const TRIAL_ENDS = {'time is up': 'The time was up. ', interrupted: 'Interrupted. ', 'training ended': 'The training ended first. '};
const WIDE_SPAN = 1.5; // a wider interval says that it is faster, but not how much

function trialAnswer(trial, rows) {
  const ceiling = num(part(trial.ceiling).high);
  const best = (TRIAL_ENDS[trial.ended] || '') + trialAdvice(rows.find((row) => row.name === trial.picked));
  return ceiling === null ? best : `${best} No change to the input can gain more than ${times(ceiling)} (measured with one cached batch).`;
}

function trialAdvice(winner) {
  const span = part(part(winner).speedup), range = timesBetween(span);
  if (!winner || !range) return 'Nothing that was tried is surely better than the run as it is.';
  if (winner.outcome === 'no difference') return `Use ${text(winner.name)}: as fast as it is, with less.`;
  const gained = span.high > WIDE_SPAN * span.low ? `at least ${times(span.low)}` : range;
  return `Use ${text(winner.name)}: ${gained} faster, measured (${count(winner.blocks, 'block')}, ${ms(1000 * (num(winner.seconds) ?? NaN))}).`;
}

function trialRow(row, picked, longest) {
  const step = num(row.step_ms), wait = num(row.wait_share), name = breakable(text(row.name));
  return h('tr', {},
    h('th', {scope: 'row'}, picked ? h('strong', {}, name) : name, row.note ? h('p', {class: 'note'}, text(row.note)) : null),
    h('td', {title: wait === null ? null : `waits for input ${percent(wait)}`}, step === null ? '' : ms(step)),
    h('td', {}, step === null ? '' : bar(step / longest, picked ? 'picked' : '')),
    tightCell(trialSpeed(row)),
    tightCell(timesBetween(part(row.predicted)), row.contradicts === true ? ' (contradicted)' : ''));
}

// A range is one word; a sentence may break.
const tightCell = (words, more = '') => h('td', {class: (words + more).includes(' ') ? '' : 'tight'}, words, more);

function trialSpeed(row) {
  if (row.role === 'as is') return '1×';
  if (row.outcome === 'no difference') return 'no difference above 3 %';
  const measured = timesBetween(part(row.speedup));
  if (!measured) return text(row.outcome);
  return row.outcome === 'undecided' ? `undecided (${measured})` : measured;
}
