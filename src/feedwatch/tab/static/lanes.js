// A few steps as bars in lanes: who did what when. Pointer and arrow keys read every bar.
import {h, list, num, part, svg, text} from './dom.js';
import {niceTicks} from './chart.js';
import {patterns} from './patterns.js';
import {ms, number, PARTS} from './words.js';

const ROW = 26, BAR = 18, TOP = 6, AXIS = 26;
const LABEL_SHARE = 0.25, LABEL_MOST = 220, LABEL_LEAST = 76, LABEL_LETTER = 6.6;
const SPAN_KEYS = ['input_wait', 'h2d', 'compute', 'other', 'validation', 'epoch_start'];
const NAMES = Object.fromEntries(PARTS.map((phase) => [phase.key, phase.name]));
const VERBS = {input_wait: 'waits', h2d: 'copy', compute: 'computes', validation: 'validation', epoch_start: 'starts loading'};
const LANE_ORDER = ['worker', 'stage', 'loading', 'loop', 'device'];

/** excerpt of a report → {steps, begins, wall, lanes: [{kind, name, estimated, spans: [{from, took, key, batch}]}]}, in ms */
export function excerptOf(value) {
  const raw = part(value), steps = list(raw.step).map(num);
  const lanes = list(raw.lanes).map(part).map(laneOf).sort((a, b) => LANE_ORDER.indexOf(a.kind) - LANE_ORDER.indexOf(b.kind));
  const wall = num(raw.wall_us);
  if (!steps.length || steps.includes(null) || !(wall > 0) || !lanes.some((lane) => lane.kind === 'loop')) return null;
  return {why: text(raw.why), steps, begins: list(raw.begin_us).map((begin) => (num(begin) ?? 0) / 1000), wall: wall / 1000, lanes};
}

function laneOf(lane) {
  const took = list(lane.took_us), phase = list(lane.phase), batch = list(lane.batch), kind = text(lane.kind);
  const spans = list(lane.begin_us).map((begin, i) => ({
    from: (num(begin) ?? NaN) / 1000, took: (num(took[i]) ?? NaN) / 1000, batch: num(batch[i]) || null,
    key: phase.length ? SPAN_KEYS[phase[i]] || 'other' : 'load'})).filter((span) => span.from + span.took >= 0);
  return {kind, name: text(lane.name).slice(0, 80), estimated: lane.estimated === true, spans};
}

/** longest: letters of a lane's name, so that two pictures share their left edge */
function labelWidth(width, longest) {
  return Math.max(LABEL_LEAST, Math.min(LABEL_MOST, width * LABEL_SHARE, longest * LABEL_LETTER + 22));
}

export const longestName = (excerpts) => Math.max(...excerpts.flatMap((excerpt) => excerpt.lanes.map((lane) => lane.name.length)));

/** shared: {length: ms on the time axis, longest: letters}, the same for two pictures */
function drawLanes(excerpt, width, {length, longest}) {
  const labels = labelWidth(width, longest);
  const height = TOP + excerpt.lanes.length * ROW + AXIS, right = width - 12;
  const x = (at) => labels + (Math.max(0, Math.min(length, at)) / length) * (right - labels);
  const {defs, fill} = patterns();
  return svg('svg', {viewBox: `0 0 ${width} ${height}`, width, height, 'aria-hidden': 'true', class: 'drawing'}, defs,
    timeAxis(x, length, height, width), stepLines(excerpt, x, height),
    excerpt.lanes.map((lane, row) => svg('g', {},
      svg('text', {x: labels - 10, y: TOP + row * ROW + 14, 'text-anchor': 'end', class: 'lane-name'}, fitting(lane.name, labels - 12), svg('title', {}, lane.name)),
      svg('rect', {x: labels, y: TOP + row * ROW, width: right - labels, height: BAR, class: 'lane'}),
      lane.spans.map((span, i) => laneBar(span, x, TOP + row * ROW, fill, `${row}.${i}`, lane.estimated)))));
}

function laneBar(span, x, y, fill, place, estimated) {
  const left = x(span.from), width = Math.max(0.8, x(span.from + span.took) - left);
  const words = span.key === 'load' ? (span.batch ? number(span.batch) : '') : width > 46 ? VERBS[span.key] || '' : '';
  return svg('g', {class: 'span' + (estimated ? ' estimated' : ''), 'data-place': place},
    svg('rect', {x: left, y, width, height: BAR, rx: width > 5 ? 2 : 0, class: 'p-' + span.key, fill: fill(span.key)}),
    words && width > words.length * 7 + 4 ? svg('text', {x: left + width / 2, y: y + 13, 'text-anchor': 'middle', class: 'on-' + span.key}, words) : null);
}

const fitting = (name, room) => { const most = Math.floor(room / LABEL_LETTER); return name.length <= most ? name : name.slice(0, Math.max(1, most - 1)) + '…'; };

function timeAxis(x, length, height, width) {
  const ticks = niceTicks(0, length, Math.min(8, width / 110));
  return ticks.map((tick) => [svg('line', {x1: x(tick), x2: x(tick), y1: TOP - 4, y2: height - AXIS, class: 'grid'}),
    svg('text', {x: x(tick), y: height - 8, class: 'tick', 'text-anchor': x(tick) > width - 40 ? 'end' : 'middle'}, tick === 0 ? '0 ms' : ms(tick))]);
}

const stepLines = (excerpt, x, height) => excerpt.begins.slice(1).map((begin) => svg('line', {x1: x(begin), x2: x(begin), y1: TOP - 4, y2: height - AXIS + 4, class: 'step-line'}));

/** One bar in words. */
export function spanWords(excerpt, lane, span) {
  const took = ms(span.took), sure = lane.estimated ? ', estimated' : '';
  if (span.key === 'load') return `${lane.name}: ${span.batch ? `batch ${number(span.batch)} is made` : 'a batch is made'}, ${took}${sure}`;
  const at = excerpt.begins.findLastIndex((begin) => begin <= span.from + 1e-6), step = excerpt.steps[Math.max(0, at)];
  const batch = span.key === 'input_wait' && span.batch ? ` for batch ${number(span.batch)}` : '';
  return `${lane.name}, step ${number(step)}: ${(NAMES[span.key] || span.key).toLowerCase()}${batch}, ${took}${sure}`;
}

/** The picture with its words: hover, arrow keys (left and right in a lane, up and down between lanes). */
export class LaneView {
  constructor(excerpt, shared, label) {
    Object.assign(this, {excerpt, shared, row: Math.max(0, excerpt.lanes.findIndex((lane) => lane.kind === 'loop')), at: -1});
    this.canvas = h('div', {class: 'canvas'});
    this.tip = h('div', {class: 'tip lane-tip', hidden: true});
    this.element = h('div', {class: 'lanes', tabindex: '0', role: 'slider', 'aria-label': label + '; arrow keys move from bar to bar', 'aria-valuemin': '0',
      'aria-valuemax': String(Math.max(0, this.spans().length - 1)), onpointermove: (event) => this.point(event), onpointerleave: () => this.show(-1), onblur: () => this.show(-1),
      onkeydown: (event) => this.key(event)}, this.canvas, this.tip);
    this.speak(0);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  get drawing() { return this.canvas.querySelector('svg'); }

  spans() { return this.excerpt.lanes[this.row].spans; }

  draw() {
    this.canvas.replaceChildren(drawLanes(this.excerpt, Math.max(300, this.element.clientWidth), this.shared));
    this.show(-1);
  }

  point(event) {
    const place = event.target.closest?.('.span')?.dataset.place;
    if (!place) return this.show(-1);
    const [row, at] = place.split('.').map(Number);
    this.row = row;
    return this.show(at);
  }

  key(event) {
    const lanes = this.excerpt.lanes, to = {ArrowLeft: this.at - 1, ArrowRight: this.at + 1, Home: 0, End: this.spans().length - 1}[event.key];
    if (event.key === 'Escape') this.show(-1);
    if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      event.preventDefault();
      const now = this.spans()[Math.max(0, this.at)];
      this.row = Math.max(0, Math.min(lanes.length - 1, this.row + (event.key === 'ArrowUp' ? -1 : 1)));
      const same = this.spans().findIndex((span) => !now || span.from + span.took > now.from);
      this.moved(Math.max(0, same));
    } else if (to !== undefined) {
      event.preventDefault();
      this.moved(Math.max(0, Math.min(this.spans().length - 1, to)));
    }
  }

  moved(at) {
    this.show(this.spans().length ? at : -1);
    this.speak(at);
  }

  show(at) {
    this.at = at;
    this.canvas.querySelector('.span.here')?.classList.remove('here');
    const bar = at < 0 ? null : this.canvas.querySelector(`[data-place="${this.row}.${at}"]`);
    this.tip.hidden = !bar;
    if (!bar) return;
    bar.classList.add('here');
    this.tip.replaceChildren(spanWords(this.excerpt, this.excerpt.lanes[this.row], this.spans()[at]));
    const box = bar.querySelector('rect'), middle = +box.getAttribute('x') + +box.getAttribute('width') / 2;
    this.tip.style.top = +box.getAttribute('y') + BAR + 6 + 'px';
    this.tip.style.left = Math.max(0, Math.min(this.element.clientWidth - this.tip.offsetWidth, middle - this.tip.offsetWidth / 2)) + 'px';
  }

  speak(at) {
    const lane = this.excerpt.lanes[this.row], span = lane.spans[at];
    this.element.setAttribute('aria-valuenow', String(Math.max(0, at)));
    this.element.setAttribute('aria-valuetext', span ? spanWords(this.excerpt, lane, span) : `${lane.name}: nothing`);
  }
}

const inMicroseconds = (at) => Math.round(at * 1000) / 1000;

export function laneRows(pictures) {
  const rows = pictures.flatMap(([which, excerpt]) => excerpt.lanes.flatMap((lane) => lane.spans.map((span) => [
    which, lane.name, span.key, span.batch ?? '', inMicroseconds(span.from), inMicroseconds(span.from + span.took), lane.estimated ? 'estimated' : ''])));
  return [['picture', 'lane', 'what', 'batch', 'begin_ms', 'end_ms', 'note'], ...rows];
}
