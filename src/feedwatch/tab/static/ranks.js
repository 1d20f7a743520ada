// The ranks of one training run side by side: one slow loader holds all of them up.
import {bar, card, h, list, num, part} from './dom.js';
import {count, ms, number, percent} from './words.js';

const WORTH_SAYING = 0.05; // of the time, as everywhere in feedwatch
const LONGER = 1.1; // than the median: a smaller difference is chance (report/console.py)

// While one rank holds the others up, they seem to compute. Their own verdict alone would mislead.
export function heldUpBy(report) {
  const slowest = part(part(report.ranks).slowest), own = part(report.run).rank, wait = num(part(part(report.phases).input_wait).ms) ?? 0;
  const longer = num(slowest.stall_ratio) >= WORTH_SAYING && slowest.input_wait_ms > LONGER * wait;
  return num(slowest.rank) !== null && slowest.rank !== own && longer ? slowest : null;
}

export function heldUpNotice(report) {
  const slowest = heldUpBy(report);
  return slowest ? h('p', {class: 'banner', role: 'note'}, `Rank ${number(slowest.rank)} waits ${ms(slowest.input_wait_ms)} for input at each step, `
    + 'and all ranks wait for it: part of what is compute here is that waiting. Its report says what to change.') : null;
}

export function ranksCard(report, open) {
  const ranks = part(report.ranks), lines = list(ranks.lines).map(part);
  if (!report.ranks) return null;
  const longest = Math.max(...lines.map((line) => num(line.input_wait_ms) || 0), 1e-9);
  const slowest = num(part(ranks.slowest).rank);
  const missing = num(ranks.missing) || 0;
  return card('Ranks', `input wait per step, ${number(ranks.count)} of ${count(num(ranks.world_size) || 0, 'rank')} reporting`,
    h('ol', {class: 'rows'}, lines.map((line) => rankRow(line, longest, line.rank === slowest && num(line.stall_ratio) >= WORTH_SAYING && line.input_wait_ms > LONGER * ranks.median_input_wait_ms, open))),
    h('p', {class: 'foot'}, summary(ranks, lines.length, missing)));
}

function rankRow(line, longest, slow, open) {
  const name = `Rank ${number(line.rank)}`;
  return h('li', {class: 'row rank' + (slow ? ' hot' : '')},
    h('span', {class: 'who'}, typeof line.run === 'string' && open
      ? h('button', {type: 'button', class: 'link tall', onclick: () => open(line.run)}, name) : name),
    bar((num(line.input_wait_ms) || 0) / longest, 'p-input_wait'),
    h('span', {class: 'n'}, ms(line.input_wait_ms)),
    h('span', {class: 'remark'}, slow ? h('span', {class: 'chip l-bad'}, 'waits longest') : null, `${percent(line.stall_ratio)} of the time`));
}

function summary(ranks, shown, missing) {
  const words = [`Median wait ${ms(ranks.median_input_wait_ms)}, longest ${ms(ranks.max_input_wait_ms)}.`];
  if (num(ranks.count) > shown) words.push(`The ${number(shown)} that wait longest are shown.`);
  if (missing) words.push(`${count(missing, 'rank')} wrote no report.`);
  words.push('All ranks go at the pace of the slowest.');
  return words.join(' ');
}
