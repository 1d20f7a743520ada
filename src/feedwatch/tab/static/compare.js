// Two or more runs beside each other, with the change of every phase against one of them. Noise is grey.
import {h, list, num, part, shortName, text} from './dom.js';
import {commonEnd, withoutEnd} from './names.js';
import {overlayCard} from './overlay.js';
import {levelMark} from './patterns.js';
import {change, count, ms, number, percent, PHASES, points, times} from './words.js';

const TABLE_LETTERS = 40;

/** pairs: run → what report/compare.py says about it against the baseline; entries: run → report */
export function compareSection(rows, baselineName, choose, {pairs, reports}) {
  const baseline = rows.find((row) => row.run === baselineName) || rows[0];
  const ordered = [baseline, ...rows.filter((row) => row !== baseline)];
  const end = commonEnd(ordered.map((row) => text(row.run))), name = (row) => withoutEnd(text(row.run), end) || '.';
  const best = fastest(ordered, pairs);
  const lines = ordered.map((row) => ({name: name(row), report: part(reports[row.run])}));
  return h('div', {class: 'compare'},
    h('header', {class: 'compare-head'}, h('h1', {}, headline(name(baseline), best, name)), best ? h('p', {class: 'detail'}, mainChange(part(pairs[best.row.run]))) : null),
    h('section', {class: 'card', 'aria-labelledby': 'h-compare'},
      h('div', {class: 'card-head'}, h('h2', {id: 'h-compare'}, 'One step of each run, on average'), baselinePicker(ordered, baseline, choose, name)),
      phaseKey(), bars(ordered, reports, name), table(ordered, pairs, name)),
    overlayCard(lines));
}

const pairRows = (pair) => list(part(pair).rows).map(part);
const stepRow = (pair) => pairRows(pair).find((row) => row.name === 'step') || {};

// The headline is about the fastest of the other runs.
function fastest([, ...others], pairs) {
  const known = others.map((row) => ({row, factor: num(part(pairs[row.run]).speedup), step: stepRow(pairs[row.run])})).filter(({factor}) => factor !== null);
  return known.length ? known.reduce((best, each) => (each.factor > best.factor ? each : best)) : null;
}

function headline(before, best, name) {
  if (!best) return 'These runs cannot be compared yet';
  const after = name(best.row);
  if (best.step.call === 'within noise') return `${after} is as fast as ${before}: the difference is within noise`;
  const words = best.factor < 1 ? `${after} is slower than ${before}: ${times(best.factor)} its speed` : `${after} is ${times(best.factor)} as fast as ${before}`;
  return best.step.call === 'significant' ? words : `${words}, by too few windows to be sure (${number(best.step.windows)} of ${number(best.step.windows_needed)})`;
}

// Noise is no change: only what is more than that is called one.
function mainChange(pair) {
  const phases = pairRows(pair).filter((row) => PHASES.some((phase) => phase.name.toLowerCase() === row.name) && num(row.before) !== null && num(row.after) !== null);
  const changed = phases.filter((row) => row.call === 'significant');
  if (!phases.length) return 'No phase was measured in both.';
  if (!changed.length) return phases.some((row) => row.call === 'within noise') ? 'No phase changed above the noise.' : null;
  const most = changed.reduce((a, b) => (Math.abs(b.after - b.before) > Math.abs(a.after - a.before) ? b : a));
  const title = text(most.name)[0].toUpperCase() + text(most.name).slice(1);
  return `${title} ${most.after < most.before ? 'fell' : 'rose'} from ${ms(most.before)} to ${ms(most.after)} per step.`;
}

function baselinePicker(rows, baseline, choose, name) {
  return h('label', {class: 'note'}, 'compared with ',
    h('select', {'data-key': 'baseline', onchange: (event) => choose(event.target.value)},
      rows.map((row) => h('option', {value: row.run, selected: row === baseline}, shortName(name(row), TABLE_LETTERS)))));
}

const phaseKey = () => h('p', {class: 'key'}, PHASES.map((phase) => h('span', {}, h('span', {class: 'swatch p-' + phase.key}), phase.name)));

const meanOf = (report, phase) => { const figures = part(part(part(report).phases)[phase.key]); return num(figures.mean_ms) ?? num(figures.ms); };

function bars(rows, reports, name) {
  const values = (row) => PHASES.map((phase) => meanOf(reports[row.run], phase) || 0), total = (row) => values(row).reduce((a, b) => a + b, 0);
  const longest = Math.max(...rows.map(total), 1e-9);
  return h('ul', {class: 'rows'}, rows.map((row) => h('li', {class: 'row run-bar'},
    h('span', {class: 'who', title: row.run}, levelMark(row.level), shortName(name(row), TABLE_LETTERS)),
    h('span', {class: 'bar', 'aria-hidden': 'true'}, values(row).map((value, i) => h('span', {class: 'fill p-' + PHASES[i].key,
      style: {width: ((value / longest) * 100).toFixed(2) + '%'}}))),
    h('span', {class: 'n'}, total(row) ? ms(total(row)) : ms(null)))));
}

const COLUMNS = [
  {title: 'Step', row: 'step', of: (row) => row.step_ms, show: ms, lower: true},
  {title: 'Samples/s', row: 'samples per second', of: (row) => row.samples_per_s, show: number, lower: false},
  {title: 'Waiting', row: 'stall ratio', of: (row) => row.stall_ratio, show: percent, lower: true, points: true},
  ...PHASES.map((phase) => ({title: phase.name, row: phase.name.toLowerCase(), of: (row) => row.phases?.[phase.key], show: ms, lower: true})),
];

function table(rows, pairs, name) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures of each run'}, h('table', {class: 'figures-table'},
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Run'), COLUMNS.map((column) => h('th', {scope: 'col'}, column.title)))),
    h('tbody', {}, rows.map((row, i) => h('tr', {}, h('th', {scope: 'row', title: row.run}, shortName(name(row), TABLE_LETTERS)),
      COLUMNS.map((column) => cell(column, row, i ? pairRows(pairs[row.run]) : pairRows(Object.values(pairs)[0]), i > 0)))))));
}

// The same numbers as `feedwatch compare` prints: of the run itself, or as the "before" of any pair.
function cell(column, row, compared, moved) {
  const pair = compared.find((each) => each.name === column.row) || {}, value = num(moved ? pair.after : pair.before) ?? num(column.of(row));
  return h('td', {class: value === null ? 'quiet' : ''}, column.show(value), moved ? verdictOf(column, pair) : null);
}

function verdictOf(column, pair) {
  const difference = num(pair.change);
  if (difference === null) return null;
  const words = column.points ? points(difference) : change(difference);
  if (pair.call === 'significant') return h('span', {class: 'change ' + (difference < 0 === column.lower ? 'better' : 'worse')}, (difference < 0 ? '▼ ' : '▲ ') + words);
  const why = pair.call === 'within noise' ? 'within noise' : `too few windows: ${number(pair.windows)} of ${number(pair.windows_needed)}`;
  return h('span', {class: 'change', title: pair.call === 'within noise' ? 'No difference above the noise of the two runs' : `A decision takes ${count(num(pair.windows_needed) ?? 0, 'window')} of each run`}, `${words}, ${why}`);
}
