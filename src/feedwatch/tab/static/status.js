// What is known about a run's life: running, silent, failed, interrupted, finished.
import {num, part, text} from './dom.js';

// A running run reports every 30 s, and from an age of three hours on more rarely (digest.py). Three did not come when
// the fourth is due:
const SILENT_SECONDS = 120, STEADY_SECONDS = 10800;

export function silent(started, updated, now = Date.now() / 1000) {
  const last = num(updated) ?? -Infinity, age = last - (num(started) ?? last);
  return now - last > SILENT_SECONDS * Math.max(1, age / STEADY_SECONDS);
}

/** running | stale | failed | interrupted | finished | unknown */
export function statusOf(row) {
  const status = text(row.status);
  if (status === 'running') return silent(row.started, row.updated) ? 'stale' : 'running';
  return ['failed', 'interrupted', 'finished'].includes(status) ? status : 'unknown';
}

/** Steps were measured, but too few for a verdict. */
export function tooEarly(report) {
  const verdict = part(report.verdict);
  return verdict.bound === 'unknown' && num(part(report.steps).measured) > 0 && num(verdict.stall_ratio) === null && num(verdict.step_ms) !== null;
}
