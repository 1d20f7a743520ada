// What to change: numbered cards, the largest gain first.
import {breakable, h, list, num, part, text} from './dom.js';
import {copyButton} from './clipboard.js';
import {difference} from './difference.js';
import {gainRange, number} from './words.js';
import {inline, markdown} from './markdown.js';
import {heldUpBy} from './ranks.js';

export function adviceSection(report, source) {
  const findings = list(report.findings).map(part).filter((finding) => text(finding.title) && text(finding.code));
  return h('section', {class: 'advice', 'aria-labelledby': 'h-advice'},
    h('div', {class: 'advice-head'}, h('h2', {id: 'h-advice'}, 'What to change')),
    findings.length ? findings.map((finding, i) => findingCard(finding, i + 1, source)) : nothing(report));
}

function nothing(report) {
  const bound = text(part(report.verdict).bound), slower = heldUpBy(report);
  if (slower) return h('div', {class: 'card calm'}, h('p', {}, `Nothing on this rank. Look at rank ${number(slower.rank)}.`));
  if (bound === 'compute') {
    return h('div', {class: 'card calm'}, h('p', {class: 'big'}, 'Nothing.'),
      h('p', {}, 'The input keeps up with the model. Time spent on the pipeline would not make this run faster.'));
  }
  // The console says the same (report/silence.py). A model that does not explain the run has compared no change to the input.
  const model = part(report.model), note = text(model.note), compared = bound !== 'input' || !report.model || model.explains === true;
  const words = bound === 'unknown' || !bound ? 'There is no advice before there is a verdict.' : compared ? 'No change that feedwatch knows gains 5 % or more here.' : null;
  return h('div', {class: 'card calm'}, words ? h('p', {}, words) : null, note ? h('p', {class: 'note'}, `${note[0].toUpperCase()}${note.slice(1)}.`) : null);
}

function findingCard(finding, place, source) {
  const id = 'finding-' + place;
  return h('article', {class: 'card finding', 'aria-labelledby': id},
    h('header', {}, h('span', {class: 'number', 'aria-hidden': 'true'}, String(place)), h('h3', {id}, breakable(text(finding.title).replaceAll('`', ''))), gain(finding)),
    h('p', {class: 'why'}, inline(text(finding.why))),
    snippet(part(finding.fix)),
    because(text(part(finding.gain).because)),
    altered(finding),
    rule(finding, source));
}

// As the console prints it: a sentence.
const because = (words) => (words ? h('p', {class: 'because'}, inline(`${words[0].toUpperCase()}${words.slice(1)}.`)) : null);

const ALTERED = {
  order: 'the order of the data', randomness: 'which random numbers are drawn', precision: 'how numbers are rounded',
  updates: 'the updates of the weights', code: 'your own code: fit the sketch to it',
};

function altered(finding) {
  const words = list(finding.alters).map((what) => ALTERED[text(what)]).filter(Boolean);
  return words.length ? h('p', {class: 'because'}, `Besides the speed it changes ${words.join(', ')}.`) : null;
}

function gain(finding) {
  const range = gainRange(part(finding.gain)), sure = !(num(part(finding.gain).low) < 1);
  if (!range) return null;
  return h('p', {class: sure ? 'gain' : 'gain unsure'}, h('b', {}, range), h('span', {}, `${sure ? 'faster' : 'as fast (undecided)'}, ${text(finding.gain.basis) || 'predicted'}`));
}

function snippet(fix) {
  const after = text(fix.after);
  if (!after) return null;
  const lines = difference(text(fix.before), after).map(({mark, line}) => h('span', {class: 'line', 'data-mark': mark}, line + '\n'));
  return h('div', {class: 'snippet'}, h('div', {class: 'strip'}, h('span', {}, text(fix.before) ? 'Change' : 'Use'), copyButton(after)),
    h('pre', {tabindex: '0', 'aria-label': 'Change in the code'}, h('code', {}, lines)));
}

// The rule's own page opens in place; it comes from the plugin, not from the internet.
function rule(finding, source) {
  const page = h('div', {class: 'page'});
  const details = h('details', {class: 'rule', 'data-key': 'rule ' + text(finding.code), ontoggle: async () => {
    if (!details.open || page.childElementCount) return;
    page.replaceChildren(h('p', {class: 'quiet'}, 'Loading …'));
    try {
      page.replaceChildren(...evidence(finding), ...markdown(withoutTitle(await source.rule(text(finding.code)))));
    } catch (problem) {
      page.replaceChildren(...evidence(finding), h('p', {class: 'quiet'}, problem.message));
    }
  }}, h('summary', {}, h('span', {class: 'code'}, text(finding.code)), ' ', text(finding.name)), page);
  return details;
}

// The card already says which rule this is.
const withoutTitle = (page) => page.replace(/^# .*\n/, '');

function evidence(finding) {
  const entries = Object.entries(part(finding.evidence)).filter(([, value]) => num(value) !== null);
  if (!entries.length) return [];
  return [h('h4', {}, 'Seen in this run'), h('dl', {class: 'evidence'}, entries.map(([key, value]) => h('div', {},
    h('dt', {}, key.replaceAll('_', ' ')), h('dd', {}, number(value)))))];
}
