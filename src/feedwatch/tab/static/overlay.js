// The compared runs in one chart, on the same axes: a line for each, with a dash of its own besides its colour.
import {h, list, num, svg} from './dom.js';
import {cutSpikes, frameOf, lineOf, nearestIndex, scalesOf} from './chart.js';
import {saveButtons} from './export.js';
import {Plot, switchOf, tipRow} from './plot.js';
import {courseOf, stepTotals} from './series.js';
import {ms, number, PHASES} from './words.js';

export const MOST_LINES = 6;
const STEP = 'step';

const overlaid = {what: STEP};

/** entries: [{name, report}], the baseline first */
export function overlayCard(entries) {
  const courses = entries.map(({name, report}) => ({name, course: courseOf(report)})).filter(({course}) => course.steps.length > 1).slice(0, MOST_LINES);
  if (courses.length < 2) return null;
  const last = Math.max(...courses.map(({course}) => course.steps[course.steps.length - 1]));
  const first = Math.min(...courses.map(({course}) => course.steps[0]));
  const longest = courses.reduce((a, b) => (b.course.steps.length > a.course.steps.length ? b : a)).course;
  const values = (course) => (overlaid.what === STEP ? stepTotals(course) : list(course.layers.find((layer) => layer.key === overlaid.what)?.values));
  const back = h('button', {type: 'button', class: 'small', hidden: true, onclick: () => plot.zoom([first, last])}, 'Whole run');
  const at = (course, step) => (step > course.steps[course.steps.length - 1] ? null : num(values(course)[nearestIndex(course.steps, step)]));
  const plot = new Plot({
    label: 'Step time of each run', steps: () => longest.steps, picked: () => {}, zoomed: (range) => { back.hidden = !range; },
    draw: (width, range) => {
      const shown = courses.flatMap(({course}) => values(course).filter((value, i) => value !== null && course.steps[i] >= range[0] && course.steps[i] <= range[1]));
      const scale = scalesOf(width, range, shown.length ? shown : [1], false);
      return {scale, drawing: frameOf(scale, null, courses.map(({course}, place) => lineOf(scale, course.steps, values(course), place)),
        courses.map(({course}) => cutSpikes(scale, course.steps, values(course))))};
    },
    readout: (i) => [h('div', {class: 'tip-title'}, 'Around step ' + number(longest.steps[i])),
      ...courses.map(({name, course}, place) => tipRow(dashOf(place), name, ms(at(course, longest.steps[i])), ''))],
    spoken: (i) => courses.map(({name, course}) => `${name} ${ms(at(course, longest.steps[i]))}`).join(', '),
  }, [first, last]);
  const rows = () => [['run', 'step', `${overlaid.what}_ms`], ...courses.flatMap(({name, course}) => course.steps.map((step, i) => [name, step, values(course)[i]]))];
  return h('section', {class: 'card', 'aria-labelledby': 'h-overlay'},
    h('div', {class: 'card-head'}, h('h2', {id: 'h-overlay'}, 'The runs over their steps'), back,
      switchOf('What the lines show', [[STEP, 'Step', 'The whole step'], ...PHASES.map((phase) => [phase.key, phase.name, phase.hint])], overlaid.what, (wanted) => { overlaid.what = wanted; plot.draw(); }),
      saveButtons('the chart of the compared runs', 'feedwatch-compare', () => ({drawings: [['', plot.drawing]], key: courses.map(({name}, place) => [`line run-${place}`, name])}), rows)),
    h('p', {class: 'key'}, courses.map(({name}, place) => h('span', {}, dashOf(place), name))), plot.element,
    entries.length > courses.length ? h('p', {class: 'foot'}, `${number(courses.length)} of ${number(entries.length)} runs are drawn: the others have no course, or are too many.`) : null);
}

const dashOf = (place) => svg('svg', {class: 'dash', width: 22, height: 10, 'aria-hidden': 'true'}, svg('path', {d: 'M0 5H22', class: `line run-${place}`}));
