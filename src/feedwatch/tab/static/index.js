// The tab: what is on the screen, when it is fetched again, and the few things a user can choose.
import {h, num, text} from './dom.js';
import {adviceSection} from './advice.js';
import {compareSection} from './compare.js';
import {emptyState, trouble} from './empty.js';
import {historyCard} from './history.js';
import {followTheme, linkedView, linkTo, onAddress, onReload, onScreen} from './host.js';
import {machineCard, transfersCard} from './machine.js';
import {costCard, onceCard} from './measurement.js';
import {pipelineCard, workersCard} from './pipeline.js';
import {heldUpNotice, ranksCard} from './ranks.js';
import {runList} from './runs.js';
import {openSource} from './source.js';
import {statusOf} from './status.js';
import {timelineCard} from './timeline.js';
import {trialCard} from './trial.js';
import {missingRun, refusal, verdictSection} from './verdict.js';

const POLL_MS = 10000;

// compare: the runs beside each other, or empty; baseline: of these, null where the oldest is it
const state = {rows: [], run: null, compare: [], baseline: null, entry: null, beside: {pairs: {}, reports: {}}, problem: null};
let root, source;

const actions = {
  open(run) { go({run, compare: [], baseline: null}); },
  tick(run) {
    // The first tick compares this run with the one on the screen.
    const chosen = state.compare.length ? state.compare : [state.run];
    const next = chosen.includes(run) && state.compare.length ? chosen.filter((other) => other !== run) : [...new Set([...chosen, run])];
    if (next.length > 1) go({compare: next, baseline: next.includes(state.baseline) ? state.baseline : null});
    else go({run: next[0] ?? state.run, compare: [], baseline: null});
  },
  clear() { go({compare: [], baseline: null}); },
  baseline(run) { go({baseline: run}); },
};

function go(view) {
  Object.assign(state, view);
  return refresh(true);
}

let seen = '', latest = 0;

/** chosen: by the reader, so that Back returns to what was there before */
async function refresh(chosen = false, redraw = chosen) {
  latest += 1;
  const turn = latest;
  const news = await fetchNews();
  if (turn !== latest) return; // the reader has chosen something else meanwhile
  Object.assign(state, news);
  const now = JSON.stringify([state.rows.map((row) => [row, statusOf(row)]), state.entry, state.problem, state.compare, state.beside]);
  if (now === seen && !redraw) return; // nothing is new, and a redraw would lose the reader's selection and tooltip
  seen = now;
  render();
  if (state.rows.length) linkTo({...state, baseline: baselineOf(state.rows, state.compare)}, chosen);
}

async function fetchNews() {
  try {
    const rows = await source.runs();
    const run = state.run === null && rows.length ? firstChoice(rows) : state.run;
    const there = (name) => rows.some((row) => row.run === name), compare = state.compare.filter(there);
    if (state.compare.length && compare.length > 1) return {rows, run, beside: await fetchBeside(rows, compare), problem: null};
    return {rows, run, entry: there(run) ? await source.report(run) : null, problem: null};
  } catch (problem) {
    return {problem: text(problem.message) || 'The request failed.'};
  }
}

async function fetchBeside(rows, compare) {
  const baseline = baselineOf(rows, compare);
  const entries = await Promise.all(compare.map(async (run) => [run, (await source.report(run))?.report ?? {}]));
  const pairs = await Promise.all(compare.filter((run) => run !== baseline).map(async (run) => [run, await source.comparison(baseline, run)]));
  return {reports: Object.fromEntries(entries), pairs: Object.fromEntries(pairs)};
}

const byStart = (a, b) => (num(a.started) ?? 0) - (num(b.started) ?? 0);

function baselineOf(rows, compare) {
  if (compare.includes(state.baseline)) return state.baseline;
  return rows.filter((row) => compare.includes(row.run)).sort(byStart)[0]?.run ?? null;
}

// A run that trains now, else the newest one.
function firstChoice(rows) {
  const running = rows.filter((row) => statusOf(row) === 'running'), readable = rows.filter((row) => !row.error);
  return [...(running.length ? running : readable.length ? readable : rows)].sort(byStart).at(-1).run;
}

function render() {
  const kept = keep();
  root.replaceChildren(...screen());
  if (source.live) document.title = `${state.compare.length ? 'Comparison' : state.run || 'Runs'} · Feedwatch`.slice(0, 200);
  restore(kept);
}

function screen() {
  if (state.problem && !state.rows.length) return [trouble(state.problem, () => refresh(true))];
  if (!state.rows.length) return [emptyState()];
  const compared = state.rows.filter((row) => state.compare.includes(row.run)).sort(byStart);
  const gone = state.compare.filter((name) => !state.rows.some((row) => row.run === name));
  const body = compared.length > 1 ? compareSection(compared, baselineOf(state.rows, state.compare), actions.baseline, state.beside) : page();
  const banners = [state.problem ? `TensorBoard does not answer: ${state.problem} What is shown may be old.` : null,
    gone.length ? `Not in this log directory: ${gone.join(', ')}.` : null];
  const main = h('main', {id: 'report', tabindex: '-1', 'aria-label': compared.length > 1 ? 'Comparison' : `Run ${state.run || '.'}`},
    h('div', {class: 'content'}, banners.map((words) => (words ? h('p', {class: 'banner', role: 'status'}, words) : null)), body));
  return state.rows.length > 1 || !state.entry ? [skipLink(), runList(state, actions), main] : [main];
}

const skipLink = () => h('a', {class: 'skip', href: '#report', onclick: (event) => { event.preventDefault(); root.querySelector('main').focus(); }}, 'Skip the list of runs');

function page() {
  if (!state.rows.some((row) => row.run === state.run)) return missingRun(state.run ?? state.compare[0]);
  const {report, row} = state.entry || {};
  if (!report) return refusal('This run has no feedwatch report any more.');
  if (report.error) return refusal(report.error);
  const timeline = timelineCard(report, state.run);
  return [
    heldUpNotice(report),
    verdictSection(row, report, state.rows.length === 1),
    h('div', {class: 'columns'},
      h('div', {class: 'evidence-column'}, timeline?.element, historyCard(report, state.run, (step) => timeline?.pick(step)), pipelineCard(report), workersCard(report),
        transfersCard(report), ranksCard(report, source.live ? actions.open : null)),
      h('div', {class: 'advice-column'}, adviceSection(report, source), trialCard(report), onceCard(report), machineCard(report), costCard(report))),
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
  if (source.live) document.title = 'Feedwatch'; // a file has a title of its own
  root = h('div', {id: 'feedwatch'}, h('p', {class: 'reading', role: 'status'}, 'Reading the runs …'));
  followTheme();
  Object.assign(state, linkedView());
  const asked = refresh(); // both requests are on their way at once
  if (source.live) await styled();
  document.body.replaceChildren(root);
  await asked;
  onAddress((view) => { if (view.run !== null || view.compare.length) { Object.assign(state, view); refresh(false, true); } });
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
