// The card "Where a step goes": the course of the run by phase, and the figures behind it.
import {card, h, num, part} from './dom.js';
import {areas, cutSpikes, epochBars, epochMarks, frameOf, scalesOf} from './chart.js';
import {saveButtons} from './export.js';
import {patterns} from './patterns.js';
import {Plot, switchOf, tipRow} from './plot.js';
import {tooEarly} from './status.js';
import {byEpoch, courseOf, courseRows, meanStep, stepTotals} from './series.js';
import {count, ms, NOT_MEASURED, number, PARTS, percent, PHASES} from './words.js';

const view = {run: null, percent: false, epochs: false, zoom: null};

/** picked(step): the reader wants to see single steps from there */
export function historyCard(report, run, picked) {
  const course = courseOf(report);
  if (course.steps.length < 2) {
    return card('Where a step goes', null, h('p', {class: 'quiet'}, 'The chart begins with the second measurement window.'), legend(report));
  }
  if (view.run !== run) Object.assign(view, {run, zoom: null});
  const epochs = byEpoch(course), shown = () => (view.epochs ? epochs : course);
  const whole = [course.steps[0], course.steps[course.steps.length - 1]];
  const extent = h('p', {class: 'note extent', 'aria-live': 'polite'});
  const back = h('button', {type: 'button', class: 'small', hidden: true, onclick: () => plot.zoom(whole)}, 'Whole run');
  const told = (range) => {
    view.zoom = range;
    back.hidden = !range;
    const [from, to] = range || whole, mean = meanStep(course, range);
    const span = `teps ${number(from)} to ${number(to)}`, points = count(mean.points, 'point');
    extent.textContent = range ? `Shown: s${span}, on average ${ms(mean.total)} per step over ${points}.` : `S${span}, ${points}, the start of the run included. Draw over a stretch to zoom.`;
  };
  const plot = new Plot({
    label: 'Step time by phase', steps: () => shown().steps, picked, zoomed: told,
    draw: (width, range) => drawCourse(width, range, shown()),
    readout: (i) => readoutOf(shown(), i), spoken: (i) => shown().layers.map((layer) => `${layer.name} ${ms(layer.values[i])}`).join(', '),
  }, whole);
  if (view.zoom) plot.range = view.zoom;
  told(view.zoom);
  const box = card('Where a step goes', null, plot.element, extent, legend(report));
  // `append` would print a null.
  box.querySelector('.card-head').append(back,
    ...(epochs.steps.length > 1 ? [switchOf('Points of the chart', [[false, 'Windows', 'Points of some seconds each'], [true, 'Epochs', 'One bar for each epoch']],
      view.epochs, (wanted) => { view.epochs = wanted; plot.at = -1; plot.draw(); })] : []),
    switchOf('Unit of the chart', [[false, 'ms', 'Milliseconds per step'], [true, '%', 'Share of each step']], view.percent, (wanted) => { view.percent = wanted; plot.draw(); }),
    saveButtons('the chart of step times', 'feedwatch-steps', () => ({drawings: [['', plot.drawing]], key: shown().layers.map((layer) => ['p-' + layer.key, layer.name])}), () => courseRows(shown())));
  return box;
}

function drawCourse(width, range, course) {
  const totals = stepTotals(course), inView = totals.filter((_, i) => course.steps[i] >= range[0] && course.steps[i] <= range[1]);
  const scale = scalesOf(width, range, inView.length ? inView : totals, view.percent);
  const {defs, fill} = patterns();
  const inside = course.labels ? epochBars(scale, course, totals, fill) : areas(scale, course, totals, fill);
  return {scale, drawing: frameOf(scale, defs, inside, [epochMarks(scale, course.marks), cutSpikes(scale, course.steps, totals)])};
}

function readoutOf(course, i) {
  const total = stepTotals(course)[i];
  const rows = [...course.layers].reverse().map((layer) => {
    const value = num(layer.values[i]);
    return tipRow(h('span', {class: 'swatch p-' + layer.key}), layer.name, ms(value), value === null || !total ? '' : percent(value / total));
  });
  const title = course.labels ? `${course.labels[i]}, ${count(course.weights[i], 'step')}` : 'Around step ' + number(course.steps[i]);
  return [h('div', {class: 'tip-title'}, title), ...rows, tipRow(h('span', {class: 'swatch'}), 'Step', ms(total), '', 'sum')];
}

// The means are those of the bar on top: they add up. Medians and p95 do not, and stand apart.
function legend(report) {
  const phases = part(report.phases), account = part(report.account), parts = part(account.parts);
  const known = Object.keys(parts).length > 0;
  const rows = PARTS.map((phase) => ({...phase, mean: known ? num(part(parts[phase.key]).ms) : num(part(phases[phase.key]).mean_ms) ?? num(part(phases[phase.key]).ms),
    share: num(part(known ? parts[phase.key] : phases[phase.key]).share), ...figuresOf(phases[phase.key])}))
    .filter((row) => !row.aside || row.mean > 0);
  const total = known ? num(account.batch_ms) : null, spread = !tooEarly(report); // a few steps have none
  return h('table', {class: 'legend'},
    h('caption', {class: 'note'}, !spread ? 'So far.' : known ? 'Means of the whole run per batch add up; medians and p95 are those of its usual steps.' : 'Of the measured steps.'),
    h('thead', {}, h('tr', {}, ['Phase', known ? 'Mean' : 'Per step', 'Share', ...(spread ? ['Median', 'p95'] : ['', ''])].map((name) => h('th', {scope: 'col'}, name)))),
    h('tbody', {}, rows.map((row) => h('tr', {title: row.hint},
      h('th', {scope: 'row'}, h('span', {class: 'swatch p-' + row.key}), row.name),
      row.mean === null ? h('td', {colspan: '4', class: 'quiet'}, NOT_MEASURED)
        : [ms(row.mean), percent(row.share), ...(row.aside || !spread ? ['', ''] : [ms(row.median), ms(row.p95)])].map((value) => h('td', {}, value)))),
    total === null ? null : h('tr', {class: 'sum'}, h('th', {scope: 'row'}, 'Together'), h('td', {}, ms(total)), h('td', {}, percent(1)), h('td', {}), h('td', {}))));
}

const figuresOf = (figures) => ({median: num(part(figures).ms), p95: num(part(figures).p95_ms)});
