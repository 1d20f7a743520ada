// Numbers as people read them. Unknown is "not measured", never 0.
import {num} from './dom.js';

export const NOT_MEASURED = 'not measured';
const GLUE = '\u00a0'; // a number and its unit stay on one line

export function ms(value) {
  const v = num(value);
  if (v === null || v < 0) return NOT_MEASURED; // no clock measures less than nothing
  if (v >= 60000) return (v / 60000).toFixed(1) + GLUE + 'min';
  if (v >= 1000) return (v / 1000).toFixed(v >= 10000 ? 1 : 2) + GLUE + 's';
  if (v >= 100) return v.toFixed(0) + GLUE + 'ms';
  if (v >= 0.095 || v === 0) return v.toFixed(v >= 1 ? 1 : v === 0 ? 0 : 2) + GLUE + 'ms';
  return (v * 1000).toFixed(v < 0.01 ? 1 : 0) + GLUE + 'µs';
}

export function percent(value) {
  const v = num(value);
  if (v === null) return NOT_MEASURED;
  const p = v * 100;
  if (p !== 0 && Math.abs(p) < 0.1) return '<' + GLUE + '0.1' + GLUE + '%';
  return p.toFixed(Math.abs(p) < 9.95 && p !== 0 ? 1 : 0) + GLUE + '%';
}

export function count(value, digits = 0) {
  const v = num(value);
  return v === null ? NOT_MEASURED : v.toLocaleString('en', {maximumFractionDigits: digits});
}

export function rate(value) {
  const v = num(value);
  return v === null ? NOT_MEASURED : count(v, v < 10 ? 2 : v < 100 ? 1 : 0);
}

export function times(value) {
  const v = num(value);
  return v === null ? NOT_MEASURED : v.toFixed(v < 9.95 ? 2 : 1) + GLUE + '×';
}

export function unit(value, name, digits = 1) {
  const v = num(value);
  return v === null ? NOT_MEASURED : count(v, digits) + GLUE + name;
}

export function gainRange(gain) {
  const low = num(gain.low), high = num(gain.high);
  if (low === null && high === null) return null;
  if (low === null || high === null || low.toFixed(2) === high.toFixed(2)) return times(low ?? high);
  return `${low.toFixed(2)}–${times(high)}`;
}

export function ago(seconds, now = Date.now() / 1000) {
  const v = num(seconds);
  if (!v) return null;
  const age = Math.max(0, now - v);
  if (age < 60) return 'less than a minute ago';
  if (age < 3600) return plural(Math.round(age / 60), 'minute') + ' ago';
  if (age < 86400) return plural(Math.round(age / 3600), 'hour') + ' ago';
  return plural(Math.round(age / 86400), 'day') + ' ago';
}

// Runs of one sweep differ at the end of their names: the middle goes first. The whole name is in the tooltip.
export function shortName(name, most) {
  if (!name) return '.';
  const head = Math.floor(most / 3);
  return name.length <= most ? name : `${name.slice(0, head)}…${name.slice(name.length - (most - head - 1))}`;
}

export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? '' : 's'}`;

export const PHASES = [
  {key: 'input_wait', name: 'Input wait', hint: 'the loop had no batch'},
  {key: 'h2d', name: 'Copy to device', hint: 'host-to-device copies that nothing hides'},
  {key: 'compute', name: 'Compute', hint: 'the training step itself'},
  {key: 'other', name: 'Other', hint: 'callbacks, logging, what nobody claimed'},
];
