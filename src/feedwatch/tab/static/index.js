// The tab: what is on the screen, when it is fetched again, and the few things a user can choose.
import {h, text} from './dom.js';
import {adviceSection} from './advice.js';
import {compareSection} from './compare.js';
import {emptyState, trouble} from './empty.js';
import {historyCard} from './history.js';
import {followTheme, linkedView, linkTo, onReload, onScreen} from './host.js';
import {machineCard, transfersCard} from './machine.js';
import {costCard, onceCard} from './measurement.js';
import {pipelineCard, workersCard} from './pipeline.js';
import {heldUpNotice, ranksCard} from './ranks.js';
import {runList} from './runs.js';
import {openSource} from './source.js';
import {refusal, verdictSection} from './verdict.js';

const POLL_MS = 10000;

const state = {rows: [], run: null, compare: [], baseline: null, entry: null, problem: null};
let root, source;

const actions = {
  open(run) { Object.assign(state, {run, compare: []}); refresh(true); },
  tick(run) {
    // The first tick compares this run with the one on the screen.
    const chosen = state.compare.length ? state.compare : [state.run];
    const next = chosen.includes(run) && state.compare.length ? chosen.filter((other) => other !== run) : [...new Set([...chosen, run])];
    state.compare = next.length > 1 ? next : [];
    if (next.length === 1) state.run = next[0];
    refresh(true);
  },
  clear() { state.compare = []; refresh(true); },
  baseline(run) { state.baseline = run; render(); },
};

let seen = '', latest = 0;

async function refresh(chosen = false) {
  latest += 1;
  const turn = latest;
  const news = await fetchNews();
  if (turn !== latest) return; // the reader has chosen something else meanwhile
  Object.assign(state, news);
  const now = JSON.stringify([state.rows, state.entry, state.problem, state.compare]);
  if (now === seen && !chosen) return; // nothing is new, and a redraw would lose the reader's selection and tooltip
  seen = now;
  render();
  if (chosen) linkTo(state.run, state.compare);
}

async function fetchNews() {
  try {
    const rows = await source.runs();
    const there = (run) => rows.some((row) => row.run === run);
    const compare = state.compare.filter(there);
    const run = there(state.run) ? state.run : firstChoice(rows);
    const entry = rows.length && compare.length < 2 ? await source.report(run) : state.entry;
    return {rows, run, entry, compare: compare.length > 1 ? compare : [], problem: null};
  } catch (problem) {
    return {problem: text(problem.message) || 'The request failed.'};
  }
}

// The run that waits longest is opened first.
function firstChoice(rows) {
  const waiting = (row) => (typeof row.stall_ratio === 'number' ? row.stall_ratio : -1);
  return rows.length ? rows.reduce((a, b) => (waiting(b) > waiting(a) ? b : a)).run : null;
}

function render() {
  const kept = keep();
  root.replaceChildren(...screen());
  restore(kept);
}

function screen() {
  if (state.problem && !state.rows.length) return [trouble(state.problem, () => refresh(true))];
  if (!state.rows.length) return [emptyState()];
  const compared = state.rows.filter((row) => state.compare.includes(row.run)).sort((a, b) => (a.started || 0) - (b.started || 0));
  const body = compared.length > 1 ? compareSection(compared, state.baseline, actions.baseline) : page();
  const banner = state.problem ? h('p', {class: 'banner', role: 'status'}, `TensorBoard does not answer: ${state.problem} What is shown may be old.`) : null;
  const main = h('main', {'aria-label': compared.length > 1 ? 'Comparison' : `Run ${state.run || '.'}`}, h('div', {class: 'content'}, banner, body));
  return state.rows.length > 1 ? [runList(state, actions), main] : [main];
}

function page() {
  const {report, row} = state.entry || {};
  if (!report) return refusal('This run has no feedwatch report any more.');
  if (report.error) return refusal(report.error);
  return [
    heldUpNotice(report),
    verdictSection(row, report, state.rows.length === 1),
    h('div', {class: 'columns'},
      h('div', {class: 'evidence-column'}, historyCard(report), pipelineCard(report), workersCard(report),
        transfersCard(report), ranksCard(report, source.live ? actions.open : null)),
      h('div', {class: 'advice-column'}, adviceSection(report, source), onceCard(report), machineCard(report), costCard(report))),
  ];
}

// A redraw keeps what the reader has focused, opened and scrolled to.
function keep() {
  const open = [...root.querySelectorAll('details[data-key][open]')].map((details) => details.dataset.key);
  return {focus: document.activeElement?.dataset?.key, open, run: root.dataset.run, scroll: root.querySelector('main')?.scrollTop || 0,
    list: root.querySelector('.runs')?.scrollTop || 0};
}

function restore(kept) {
  const shown = state.compare.length ? 'compare' : 'run ' + state.run;
  root.dataset.run = shown;
  const byKey = (key) => [...root.querySelectorAll('[data-key]')].find((element) => element.dataset.key === key);
  if (kept.run === shown) {
    kept.open.forEach((key) => byKey(key)?.setAttribute('open', ''));
    root.querySelector('main').scrollTop = kept.scroll;
  }
  const runs = root.querySelector('.runs');
  if (runs) runs.scrollTop = kept.list;
  if (kept.focus) byKey(kept.focus)?.focus({preventScroll: true});
}

const waitsForNews = () => !state.rows.length || state.problem || state.rows.some((row) => row.status === 'running');

async function start() {
  document.documentElement.lang = 'en';
  source = openSource();
  root = h('div', {id: 'feedwatch'});
  followTheme();
  Object.assign(state, linkedView());
  await Promise.all([refresh(), source.live ? styled() : null]);
  document.body.replaceChildren(root);
  if (!source.live) return;
  onReload(() => refresh());
  setInterval(() => { if (onScreen() && waitsForNews()) refresh(); }, POLL_MS);
}

// The page is shown when its style is there. Without the style it would flash.
function styled() {
  return new Promise((ready) => {
    document.head.append(h('link', {rel: 'stylesheet', href: './style.css', onload: ready, onerror: ready}));
  });
}
