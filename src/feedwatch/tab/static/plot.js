// A chart that can be read: values under the pointer or the arrow keys, a stretch drawn with the pointer becomes the view.
import {h} from './dom.js';
import {nearestIndex} from './chart.js';
import {number} from './words.js';

const LEAST_BRUSH = 8; // pixels: a shaky click is no stretch
const ZOOM_KEYS = {'+': 0.5, '=': 0.5, '-': 2, _: 2};

/** of: {steps, label, draw(width, range) → {scale, drawing}, readout(i), spoken(i), zoomed(range), picked(step)} */
export class Plot {
  constructor(of, range) {
    Object.assign(this, {of, at: -1, range, whole: range, from: null});
    this.canvas = h('div', {class: 'canvas'});
    this.tip = h('div', {class: 'tip', hidden: true});
    this.element = h('div', {
      class: 'plot', tabindex: '0', role: 'slider', 'data-key': 'plot', 'aria-label': of.label + '; arrow keys move, plus and minus zoom, Enter picks, 0 shows all',
      'aria-valuemin': String(range[0]), 'aria-valuemax': String(range[1]),
      onpointerdown: (event) => this.press(event), onpointermove: (event) => this.point(event), onpointerup: (event) => this.release(event),
      onpointerleave: () => { if (this.from === null) this.show(-1); }, onblur: () => this.show(-1), ondblclick: () => this.zoom(this.whole),
      onkeydown: (event) => this.key(event)}, this.canvas, this.tip);
    this.speak(of.steps().length - 1);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  get drawing() { return this.canvas.querySelector('svg'); }

  draw() {
    const width = Math.max(300, this.element.clientWidth);
    const {scale, drawing} = this.of.draw(width, this.range);
    this.scale = scale;
    this.canvas.replaceChildren(drawing);
    this.show(this.at < this.of.steps().length ? this.at : -1);
  }

  zoom(range) {
    const [from, to] = [Math.max(this.whole[0], Math.round(range[0])), Math.min(this.whole[1], Math.round(range[1]))];
    if (to - from < 1) return;
    this.range = [from, to];
    this.of.zoomed(from > this.whole[0] || to < this.whole[1] ? this.range : null);
    this.draw();
  }

  left(event) { return event.clientX - this.element.getBoundingClientRect().left; }

  press(event) {
    if (!this.scale || event.button) return;
    this.from = this.left(event);
    this.element.setPointerCapture(event.pointerId);
  }

  point(event) {
    if (!this.scale) return;
    const pixel = this.left(event);
    const drawing = this.from !== null && Math.abs(pixel - this.from) > LEAST_BRUSH;
    this.show(drawing ? -1 : nearestIndex(this.of.steps(), this.scale.step(pixel)));
    if (this.from !== null) this.brush(this.from, pixel);
  }

  brush(from, to) {
    const box = this.canvas.querySelector('.brush');
    const [low, high] = [Math.max(this.scale.left, Math.min(from, to)), Math.min(this.scale.right, Math.max(from, to))];
    box.setAttribute('visibility', high - low > LEAST_BRUSH ? 'visible' : 'hidden');
    box.setAttribute('x', low);
    box.setAttribute('width', Math.max(0, high - low));
  }

  release(event) {
    if (this.from === null || !this.scale) return;
    const ends = [this.from, this.left(event)].sort((a, b) => a - b).map((pixel) => this.scale.step(pixel));
    const drawn = Math.abs(this.left(event) - this.from) > LEAST_BRUSH;
    this.from = null;
    if (drawn) this.zoom(ends);
    this.canvas.querySelector('.brush')?.setAttribute('visibility', 'hidden');
    this.of.picked(drawn ? (ends[0] + ends[1]) / 2 : ends[0]);
  }

  key(event) {
    const steps = this.of.steps(), last = steps.length - 1, from = this.at < 0 ? last : this.at;
    if (event.key === 'Escape') this.show(-1);
    if (event.key === '0') this.zoom(this.whole);
    if (event.key === 'Enter') this.of.picked(steps[from]);
    if (event.key in ZOOM_KEYS) {
      const half = ((this.range[1] - this.range[0]) * ZOOM_KEYS[event.key]) / 2;
      this.zoom([steps[from] - half, steps[from] + half]);
    }
    const goal = {ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from + 20, PageDown: from - 20, Home: 0, End: last}[event.key];
    if (goal === undefined) return;
    event.preventDefault();
    this.show(Math.max(0, Math.min(last, goal)));
    this.speak(this.at);
  }

  show(i) {
    this.at = i;
    const inside = i >= 0 && this.scale && this.of.steps()[i] >= this.scale.first && this.of.steps()[i] <= this.scale.last;
    this.tip.hidden = !inside;
    const cursor = this.canvas.querySelector('.cursor');
    if (cursor) cursor.setAttribute('visibility', inside ? 'visible' : 'hidden');
    if (!inside) return;
    const x = this.scale.x(this.of.steps()[i]);
    cursor.setAttribute('transform', `translate(${x} 0)`);
    this.tip.replaceChildren(...this.of.readout(i));
    const left = x < this.scale.width / 2 ? x + 14 : x - this.tip.offsetWidth - 14;
    this.tip.style.left = Math.max(0, left) + 'px';
  }

  speak(i) {
    const step = this.of.steps()[i];
    this.element.setAttribute('aria-valuenow', String(step));
    this.element.setAttribute('aria-valuetext', `step ${number(step)}: ${this.of.spoken(i)}`);
  }
}

export function tipRow(swatch, name, value, share, kind) {
  return h('div', {class: 'tip-row ' + (kind || '')}, swatch, h('span', {}, name), h('span', {class: 'n'}, value), h('span', {class: 'n'}, share));
}

/** choices: [[value, label, hint]] */
export function switchOf(label, choices, chosen, choose) {
  const buttons = choices.map(([value, words, hint]) => h('button', {
    type: 'button', 'aria-pressed': String(value === chosen), title: hint, onclick: () => {
      buttons.forEach((button, i) => button.setAttribute('aria-pressed', String(choices[i][0] === value)));
      choose(value);
    }}, words));
  return h('div', {class: 'switch', role: 'group', 'aria-label': label}, buttons);
}
