// The card "Where a step goes": chart, switch between ms and %, values under the pointer or the arrow keys.
import {card, h, list, num, part, text} from './dom.js';
import {drawChart, scales} from './chart.js';
import {ms, NOT_MEASURED, number, percent, PHASES} from './words.js';

const view = {percent: false};

export function historyCard(report) {
  const series = part(report.series);
  const steps = list(series.step).filter((step) => num(step) !== null);
  if (steps.length < 2) {
    return card('Where a step goes', null, h('p', {class: 'quiet'}, 'The chart begins with the second measurement window.'));
  }
  const layers = PHASES.map((phase) => ({...phase, values: list(series[phase.key])}))
    .filter((layer) => layer.values.some((value) => num(value) !== null));
  const marks = list(series.marks).map(part).filter((mark) => num(mark.step) !== null)
    .map((mark) => ({step: mark.step, label: text(mark.label).slice(0, 24)}));
  const plot = new Plot(steps, layers, marks);
  const box = card('Where a step goes', null, plot.element, legend(report));
  box.querySelector('.card-head').append(unitSwitch(() => plot.draw()));
  return box;
}

function unitSwitch(redraw) {
  const choose = (wanted) => {
    view.percent = wanted;
    buttons.forEach((button) => button.setAttribute('aria-pressed', String((button.textContent === '%') === wanted)));
    redraw();
  };
  const buttons = ['ms', '%'].map((label) => h('button', {
    type: 'button', 'aria-pressed': String((label === '%') === view.percent), onclick: () => choose(label === '%'),
    title: label === '%' ? 'Share of each step' : 'Milliseconds per step'}, label));
  return h('div', {class: 'switch', role: 'group', 'aria-label': 'Unit of the chart'}, buttons);
}

function legend(report) {
  const phases = part(report.phases);
  return h('table', {class: 'legend'},
    h('thead', {}, h('tr', {}, ['Phase', 'Median', 'p95', 'Share'].map((name) => h('th', {scope: 'col'}, name)))),
    h('tbody', {}, PHASES.map((phase) => {
      const figures = part(phases[phase.key]);
      const known = num(figures.ms) !== null;
      return h('tr', {title: phase.hint},
        h('th', {scope: 'row'}, h('span', {class: 'swatch p-' + phase.key}), phase.name),
        known ? [ms(figures.ms), ms(figures.p95_ms), percent(figures.share)].map((value) => h('td', {}, value))
          : h('td', {colspan: '3', class: 'quiet'}, NOT_MEASURED));
    })));
}

class Plot {
  constructor(steps, layers, marks) {
    Object.assign(this, {steps, layers, marks, at: -1});
    this.canvas = h('div', {class: 'canvas'});
    this.tip = h('div', {class: 'tip', hidden: true});
    this.element = h('div', {
      class: 'plot', tabindex: '0', role: 'slider', 'aria-label': 'Step time by phase; arrow keys move through the run',
      'aria-valuemin': String(steps[0]), 'aria-valuemax': String(steps[steps.length - 1]),
      onpointermove: (event) => this.point(event), onpointerleave: () => this.show(-1), onblur: () => this.show(-1),
      onkeydown: (event) => this.key(event)}, this.canvas, this.tip);
    this.speak(steps.length - 1);
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  draw() {
    const width = Math.max(300, this.element.clientWidth);
    this.scale = scales(width, this.steps, this.layers, view.percent);
    this.canvas.replaceChildren(drawChart(this.scale, this.steps, this.layers, this.marks));
    if (this.at >= 0) this.show(this.at);
  }

  point(event) {
    if (this.scale) this.show(this.scale.nearest(event.clientX - this.element.getBoundingClientRect().left));
  }

  key(event) {
    const last = this.steps.length - 1, from = this.at < 0 ? last : this.at;
    const goal = {ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from + 20, PageDown: from - 20, Home: 0, End: last}[event.key];
    if (event.key === 'Escape') this.show(-1);
    if (goal === undefined) return;
    event.preventDefault();
    this.show(Math.max(0, Math.min(last, goal)));
    this.speak(this.at);
  }

  show(i) {
    this.at = i;
    this.tip.hidden = i < 0;
    const cursor = this.canvas.querySelector('.cursor');
    if (cursor) cursor.setAttribute('visibility', i < 0 ? 'hidden' : 'visible');
    if (i < 0 || !this.scale) return;
    const x = this.scale.x(this.steps[i]);
    cursor.setAttribute('transform', `translate(${x} 0)`);
    this.tip.replaceChildren(...this.readout(i));
    const left = x < this.scale.width / 2 ? x + 14 : x - this.tip.offsetWidth - 14;
    this.tip.style.left = Math.max(0, left) + 'px';
  }

  readout(i) {
    const total = this.scale.totals[i];
    const row = (swatch, name, value, share, kind) => h('div', {class: 'tip-row ' + (kind || '')},
      swatch, h('span', {}, name), h('span', {class: 'n'}, value), h('span', {class: 'n'}, share));
    const rows = [...this.layers].reverse().map((layer) => {
      const value = num(layer.values[i]);
      return row(h('span', {class: 'swatch p-' + layer.key}), layer.name, ms(value), value === null || !total ? '' : percent(value / total));
    });
    return [h('div', {class: 'tip-title'}, 'Around step ' + number(this.steps[i])), ...rows,
      row(h('span', {class: 'swatch'}), 'Step', ms(total), '', 'sum')];
  }

  speak(i) {
    const values = this.layers.map((layer) => `${layer.name} ${ms(layer.values[i])}`).join(', ');
    this.element.setAttribute('aria-valuenow', String(this.steps[i]));
    this.element.setAttribute('aria-valuetext', `step ${number(this.steps[i])}: ${values}`);
  }
}
