// The list of runs: each with its stall ratio, ranks of one training run folded together, boxes to compare.
import {breakable, h, num, shortName, text} from './dom.js';
import {count, percent} from './words.js';

const LIST_LETTERS = 34; // two lines
const MANY = 9; // from here on a filter helps more than it costs
const LEVEL = {bad: 'waits a lot', warn: 'waits a little', ok: 'fine', unknown: 'no verdict'};

const filter = {words: ''};

export function runList(state, actions) {
  const items = h('div', {class: 'run-items'});
  const fill = () => items.replaceChildren(...entries(state, actions));
  fill();
  return h('nav', {class: 'runs', 'aria-label': 'Runs'},
    h('div', {class: 'runs-head'}, h('h2', {}, 'Runs'), h('span', {class: 'note'}, 'waiting')),
    state.rows.length >= MANY ? h('input', {type: 'search', class: 'filter', placeholder: `Filter ${count(state.rows.length, 'run')}`,
      'aria-label': 'Filter runs', 'data-key': 'filter', value: filter.words,
      oninput: (event) => { filter.words = event.target.value; fill(); }}) : null,
    items, compareAction(state, actions));
}

function entries(state, actions) {
  const wanted = filter.words.trim().toLowerCase();
  const rows = state.rows.filter((row) => text(row.run).toLowerCase().includes(wanted));
  if (!rows.length) return [h('p', {class: 'quiet none'}, 'No run has this in its name.')];
  const seen = new Set();
  return rows.flatMap((row) => {
    if (row.group === null || row.group === undefined) return [entry(row, state, actions)];
    if (seen.has(row.group)) return [];
    seen.add(row.group);
    return [group(rows.filter((other) => other.group === row.group), state, actions)];
  });
}

function group(rows, state, actions) {
  const worst = rows.reduce((a, b) => ((num(b.stall_ratio) ?? -1) > (num(a.stall_ratio) ?? -1) ? b : a));
  const inside = rows.some((row) => row.run === state.run);
  return h('details', {class: 'group', open: inside, 'data-key': 'group ' + worst.group},
    h('summary', {title: worst.group}, h('span', {class: 'dot l-' + worst.level}), h('span', {class: 'name'}, breakable(shortName(worst.group, LIST_LETTERS))),
      h('span', {class: 'sub'}, count(rows.length, 'rank')), h('span', {class: 'n'}, num(worst.stall_ratio) === null ? '–' : percent(worst.stall_ratio))),
    rows.map((row) => entry(row, state, actions, text(row.run).slice(worst.group.length).replace(/^\//, ''))));
}

function entry(row, state, actions, label) {
  const current = !state.compare.length && row.run === state.run;
  const figure = row.error ? 'unreadable' : num(row.stall_ratio) === null ? '–' : percent(row.stall_ratio);
  return h('div', {class: 'run' + (current ? ' current' : '')},
    h('input', {type: 'checkbox', 'aria-label': `Compare ${row.run}`, 'data-key': 'tick ' + row.run, title: 'Compare',
      checked: state.compare.includes(row.run), onchange: () => actions.tick(row.run)}),
    h('button', {type: 'button', 'aria-current': current ? 'page' : null, 'data-key': 'run ' + row.run, title: row.run,
      onclick: () => actions.open(row.run)},
      h('span', {class: 'dot l-' + row.level, title: LEVEL[row.level]}), h('span', {class: 'name'}, breakable(shortName(label ?? row.run, LIST_LETTERS))),
      row.status === 'running' ? h('span', {class: 'live-dot', title: 'running'}) : null,
      h('span', {class: 'n'}, figure)));
}

function compareAction(state, actions) {
  if (state.rows.length < 2) return null;
  return h('p', {class: 'hint'}, state.compare.length
    ? h('button', {type: 'button', class: 'link', 'data-key': 'clear', onclick: actions.clear}, 'End the comparison')
    : 'Tick runs to compare them.');
}
