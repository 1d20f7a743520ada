// Numbers as people read them. This module only reads the table of limits, digits and units that words.py holds.
import {num} from './dom.js';
import {TABLE} from './table.js';

export const NOT_MEASURED = TABLE.not_measured;
const GLUE = '\u00a0'; // a number and its unit stay on one line

function worded(name, given) {
  const rule = TABLE.rules[name], value = num(given);
  if (value === null || Math.abs(value) >= TABLE.largest || (value < 0 && !rule.below_zero)) return NOT_MEASURED;
  if (value === 0) return rule.zero.replaceAll(' ', GLUE);
  const amount = Math.abs(value);
  if (amount < rule.smallest) return '<' + GLUE + worded(name, rule.smallest);
  const row = rule.rows.find(({least}) => amount >= least);
  return (value < 0 ? '−' : '') + rounded(amount / row.per, row.digits) + row.unit.replaceAll(' ', GLUE);
}

function rounded(value, digits) {
  const [whole, rest] = value.toFixed(digits).split('.');
  const kept = (rest || '').replace(/0+$/, '');
  return whole.replace(/\B(?=(\d{3})+$)/g, ',') + (kept && '.' + kept);
}

function signed(name, value) {
  const shown = worded(name, value);
  return num(value) > 0 && /^\d/.test(shown) ? '+' + shown : shown;
}

export const ms = (value) => worded('time', value);
export const percent = (value) => worded('share', value);
export const change = (value) => signed('share', value);
export const points = (value) => signed('points', value);
export const times = (value) => worded('factor', value);
// 1.75–2.1×, or '' where it was not measured.
export const timesBetween = (span) => (num(span.low) === null || num(span.high) === null ? '' : gainRange(span));
export const size = (value) => worded('size', value);
export const rate = (value) => worded('rate', value);
export const number = (value) => worded('number', value);

export function count(value, noun, plural = noun + 's') {
  const shown = number(value);
  return shown === NOT_MEASURED ? shown : `${shown} ${shown === '1' ? noun : plural}`;
}

// A gain with one end unknown is shown by the other end; with both unknown there is none to show.
export function gainRange(gain) {
  const ends = [num(gain.low), num(gain.high)].filter((value) => value !== null).map(times);
  if (!ends.length) return null;
  return ends.length === 1 || ends[0] === ends[1] ? ends[0] : `${ends[0].replace('×', '')}–${ends[1]}`;
}

export function ago(seconds, now = Date.now() / 1000) {
  const v = num(seconds);
  if (!v) return null;
  const age = Math.max(0, now - v);
  if (age < 60) return 'less than a minute ago';
  if (age < 3600) return count(Math.round(age / 60), 'minute') + ' ago';
  if (age < 86400) return count(Math.round(age / 3600), 'hour') + ' ago';
  return count(Math.round(age / 86400), 'day') + ' ago';
}

const STAMP = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit'});

/** A date as the reader's own country writes it. */
export function dateOf(seconds) {
  const v = num(seconds);
  return v && Math.abs(v) < 8e12 ? STAMP.format(new Date(v * 1000)) : null;
}

const HINTS = {
  input_wait: 'the loop had no batch', h2d: 'host-to-device copies that nothing hides',
  compute: 'the training step itself', other: 'callbacks, logging, what nobody claimed',
  epoch_start: 'starting the loader and the first batch of an epoch', validation: 'between two epochs or inside one',
  gap: "checkpoints, callbacks, the framework's own work",
};

const partsNamed = (table, more) => Object.entries(table).map(([key, name]) => ({key, name: name[0].toUpperCase() + name.slice(1), hint: HINTS[key], ...more}));

export const PHASES = partsNamed(TABLE.phases);

// What is no part of a usual step, but of the run: the account on top counts it per batch.
export const PARTS = [...PHASES, ...partsNamed(TABLE.aside, {aside: true})];
