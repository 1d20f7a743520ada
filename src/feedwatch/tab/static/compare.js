// Two or more runs beside each other, with the change of every phase against one of them.
import {h, num, shortName, text} from './dom.js';
import {change, ms, number, percent, PHASES, points, times} from './words.js';

const TABLE_LETTERS = 40;
const SAME = 0.03; // changes below 3 % are not worth a colour

export function compareSection(rows, baselineName, choose) {
  const baseline = rows.find((row) => row.run === baselineName) || rows[0];
  const ordered = [baseline, ...rows.filter((row) => row !== baseline)];
  const best = fastest(ordered);
  return h('div', {class: 'compare'},
    h('header', {class: 'compare-head'}, h('h1', {}, headline(baseline, best)), best ? h('p', {class: 'detail'}, mainChange(baseline, best.row)) : null),
    h('section', {class: 'card', 'aria-label': 'Runs side by side'},
      h('div', {class: 'card-head'}, h('h2', {}, 'One step of each run'), baselinePicker(ordered, baseline, choose)),
      key(), bars(ordered), table(ordered)));
}

const pace = (row) => (num(row.samples_per_s) > 0 ? row.samples_per_s : null);

// Samples per second where both runs know it: a larger batch makes a longer step that is not slower.
export function speedUp(before, after) {
  if (pace(before) && pace(after)) return pace(after) / pace(before);
  return num(before.step_ms) > 0 && num(after.step_ms) > 0 ? before.step_ms / after.step_ms : null;
}

// The headline is about the fastest of the other runs.
function fastest([before, ...others]) {
  const known = others.map((row) => ({row, factor: speedUp(before, row)})).filter(({factor}) => factor !== null);
  return known.length ? known.reduce((best, each) => (each.factor > best.factor ? each : best)) : null;
}

function headline(before, best) {
  if (!best) return 'These runs cannot be compared yet';
  if (Math.abs(best.factor - 1) < SAME) return `${name(best.row)} is as fast as ${name(before)}`;
  if (best.factor < 1) return `${name(best.row)} is slower than ${name(before)}: ${times(best.factor)} its speed`;
  return `${name(best.row)} is ${times(best.factor)} as fast as ${name(before)}`;
}

function mainChange(before, after) {
  const changes = PHASES.map((phase) => ({phase, from: num(before.phases?.[phase.key]), to: num(after.phases?.[phase.key])}))
    .filter(({from, to}) => from !== null && to !== null);
  if (!changes.length) return 'No phase was measured in both.';
  const {phase, from, to} = changes.reduce((most, each) => (Math.abs(each.to - each.from) > Math.abs(most.to - most.from) ? each : most));
  return from === to ? 'No phase changed.' : `${phase.name} ${to < from ? 'fell' : 'rose'} from ${ms(from)} to ${ms(to)} per step.`;
}

const name = (row) => text(row.run) || '.';

function baselinePicker(rows, baseline, choose) {
  return h('label', {class: 'note'}, 'compared with ',
    h('select', {'data-key': 'baseline', onchange: (event) => choose(event.target.value)},
      rows.map((row) => h('option', {value: row.run, selected: row === baseline}, shortName(name(row), TABLE_LETTERS)))));
}

const key = () => h('p', {class: 'key'}, PHASES.map((phase) => [h('span', {class: 'swatch p-' + phase.key}), phase.name]));

function bars(rows) {
  const total = (row) => PHASES.reduce((sum, phase) => sum + (num(row.phases?.[phase.key]) || 0), 0);
  const longest = Math.max(...rows.map(total), 1e-9);
  return h('ul', {class: 'rows'}, rows.map((row) => h('li', {class: 'row run-bar'},
    h('span', {class: 'who', title: name(row)}, h('span', {class: 'dot l-' + row.level}), shortName(name(row), TABLE_LETTERS)),
    h('span', {class: 'bar', 'aria-hidden': 'true'}, PHASES.map((phase) => h('span', {class: 'fill p-' + phase.key,
      style: {width: (((num(row.phases?.[phase.key]) || 0) / longest) * 100).toFixed(2) + '%'}}))),
    h('span', {class: 'n'}, ms(row.step_ms)))));
}

const COLUMNS = [
  {title: 'Step', of: (row) => row.step_ms, show: ms, lower: true},
  {title: 'Samples/s', of: (row) => row.samples_per_s, show: number, lower: false},
  {title: 'Waiting', of: (row) => row.stall_ratio, show: percent, lower: true, points: true},
  ...PHASES.map((phase) => ({title: phase.name, of: (row) => row.phases?.[phase.key], show: ms, lower: true})),
];

function table(rows) {
  return h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Figures of each run'}, h('table', {class: 'figures-table'},
    h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Run'), COLUMNS.map((column) => h('th', {scope: 'col'}, column.title)))),
    h('tbody', {}, rows.map((row, i) => h('tr', {}, h('th', {scope: 'row', title: name(row)}, shortName(name(row), TABLE_LETTERS)),
      COLUMNS.map((column) => cell(column, row, i ? rows[0] : null)))))));
}

function cell(column, row, baseline) {
  const value = num(column.of(row));
  const moved = baseline && value !== null ? changeOf(column, num(column.of(baseline)), value) : null;
  return h('td', {class: value === null ? 'quiet' : ''}, column.show(value),
    moved ? h('span', {class: 'change ' + moved.kind}, moved.words) : null);
}

function changeOf(column, from, to) {
  if (from === null || (!column.points && from === 0)) return null;
  const difference = column.points ? to - from : to / from - 1;
  if (Math.abs(difference) < SAME) return {kind: '', words: 'same'};
  return {kind: difference < 0 === column.lower ? 'better' : 'worse', words: column.points ? points(difference) : change(difference)};
}
