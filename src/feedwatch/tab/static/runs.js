// The list of runs: each with its state, date, framework and stall ratio, ranks of one training run folded together, boxes to compare.
import {breakable, h, num, shortName, text} from './dom.js';
import {commonEnd, withoutEnd} from './names.js';
import {levelMark} from './patterns.js';
import {statusOf} from './status.js';
import {count, dateOf, percent} from './words.js';

const LIST_LETTERS = 34; // two lines
const MANY = 9; // from here on a filter helps more than it costs
const STATUS_WORDS = {running: 'running', stale: 'no news, killed?', failed: 'failed', interrupted: 'interrupted'};
const ORDERS = [
  ['time', 'Newest first', (a, b) => (num(b.started) ?? 0) - (num(a.started) ?? 0)],
  ['wait', 'Waits most first', (a, b) => (num(b.stall_ratio) ?? -1) - (num(a.stall_ratio) ?? -1)],
  ['name', 'By name', (a, b) => text(a.run).localeCompare(text(b.run), undefined, {numeric: true})],
];

const listed = {words: '', order: 'time'};

export function runList(state, actions) {
  const items = h('div', {class: 'run-items'});
  const fill = () => items.replaceChildren(...entries(state, actions));
  fill();
  return h('nav', {class: 'runs', 'aria-label': 'Runs'},
    h('div', {class: 'runs-head'}, h('h2', {}, 'Runs'), h('select', {'aria-label': 'Order of the runs', 'data-key': 'order', onchange: (event) => { listed.order = event.target.value; fill(); }},
      ORDERS.map(([value, words]) => h('option', {value, selected: value === listed.order}, words)))),
    state.rows.length >= MANY ? h('input', {type: 'search', class: 'filter', placeholder: `Filter ${count(state.rows.length, 'run')}`,
      'aria-label': 'Filter runs', 'data-key': 'filter', value: listed.words,
      oninput: (event) => { listed.words = event.target.value; fill(); }}) : null,
    items, compareAction(state, actions));
}

function entries(state, actions) {
  const wanted = listed.words.trim().toLowerCase(), end = commonEnd(state.rows.map((row) => text(row.run)));
  const order = ORDERS.find(([value]) => value === listed.order)[2];
  const rows = state.rows.filter((row) => text(row.run).toLowerCase().includes(wanted)).sort(order);
  if (!rows.length) return [h('p', {class: 'quiet none'}, 'No run has this in its name.')];
  const seen = new Set();
  return rows.flatMap((row) => {
    if (row.group === null || row.group === undefined) return [entry(row, state, actions, withoutEnd(text(row.run), end))];
    if (seen.has(row.group)) return [];
    seen.add(row.group);
    return [group(rows.filter((other) => other.group === row.group), state, actions)];
  });
}

function group(rows, state, actions) {
  const worst = rows.reduce((a, b) => ((num(b.stall_ratio) ?? -1) > (num(a.stall_ratio) ?? -1) ? b : a));
  const inside = rows.some((row) => row.run === state.run);
  return h('details', {class: 'group', open: inside, 'data-key': 'group ' + worst.group},
    h('summary', {title: worst.group}, levelMark(worst.level), h('span', {class: 'name'}, breakable(shortName(worst.group, LIST_LETTERS))),
      h('span', {class: 'sub'}, count(rows.length, 'rank')), h('span', {class: 'n'}, figureOf(worst))),
    [...rows].sort((a, b) => (num(a.rank) ?? 0) - (num(b.rank) ?? 0)).map((row) => entry(row, state, actions, text(row.run).slice(worst.group.length).replace(/^\//, ''))));
}

const figureOf = (row) => (row.error ? 'unreadable' : num(row.stall_ratio) === null ? '–' : percent(row.stall_ratio));

function entry(row, state, actions, label) {
  const current = !state.compare.length && row.run === state.run, status = statusOf(row);
  const about = [dateOf(row.started), text(row.framework), STATUS_WORDS[status]].filter(Boolean).join(' · ');
  return h('div', {class: 'run' + (current ? ' current' : '')},
    h('label', {class: 'tick-box', title: 'Compare'}, h('input', {type: 'checkbox', 'aria-label': `Compare ${row.run || '.'}`, 'data-key': 'tick ' + row.run,
      checked: state.compare.includes(row.run), onchange: () => actions.tick(row.run)})),
    h('button', {type: 'button', 'aria-current': current ? 'page' : null, 'data-key': 'run ' + row.run, title: row.run,
      onclick: () => actions.open(row.run)},
      levelMark(row.level), h('span', {class: 'name'}, breakable(shortName(label, LIST_LETTERS)),
        about ? h('span', {class: 'sub'}, status === 'running' ? h('span', {class: 'live-dot'}) : null, about) : null),
      h('span', {class: 'n', title: 'Share of the time that training waits for input'}, figureOf(row))));
}

function compareAction(state, actions) {
  if (state.rows.length < 2) return null;
  return h('p', {class: 'hint'}, state.compare.length
    ? h('button', {type: 'button', class: 'link', 'data-key': 'clear', onclick: actions.clear}, 'End the comparison')
    : 'Percentages: time spent waiting for input. Tick runs to compare them.');
}
