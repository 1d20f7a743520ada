// What to change: numbered cards, the largest gain first.
import {breakable, h, list, num, part, text} from './dom.js';
import {difference} from './difference.js';
import {gainRange, number} from './words.js';
import {inline, markdown} from './markdown.js';
import {heldUpBy} from './ranks.js';

export function adviceSection(report, source) {
  const findings = list(report.findings).map(part);
  return h('section', {class: 'advice', 'aria-labelledby': 'h-advice'},
    h('div', {class: 'advice-head'}, h('h2', {id: 'h-advice'}, 'What to change'), combined(report)),
    findings.length ? findings.map((finding, i) => findingCard(finding, i + 1, source)) : nothing(report));
}

function combined(report) {
  const range = gainRange(part(report.combined_gain));
  return range ? h('p', {class: 'note', title: text(report.combined_gain.because)}, 'the first two together: ',
    h('b', {class: 'good'}, range), ' ' + text(report.combined_gain.basis)) : null;
}

function nothing(report) {
  const bound = text(part(report.verdict).bound), slower = heldUpBy(report);
  if (slower) return h('div', {class: 'card calm'}, h('p', {}, `Nothing on this rank. Look at rank ${number(slower.rank)}.`));
  if (bound === 'compute') {
    return h('div', {class: 'card calm'}, h('p', {class: 'big'}, 'Nothing.'),
      h('p', {}, 'The input keeps up with the model. Time spent on the pipeline would not make this run faster.'));
  }
  const words = bound === 'unknown' || !bound ? 'There is no advice before there is a verdict.' : 'No rule knows a change that would help here.';
  return h('div', {class: 'card calm'}, h('p', {}, words));
}

function findingCard(finding, place, source) {
  const id = 'finding-' + place;
  return h('article', {class: 'card finding', 'aria-labelledby': id},
    h('header', {}, h('span', {class: 'number', 'aria-hidden': 'true'}, String(place)), h('h3', {id}, breakable(text(finding.title).replaceAll('`', ''))), gain(finding)),
    h('p', {class: 'why'}, inline(text(finding.why))),
    snippet(part(finding.fix)),
    text(part(finding.gain).because) ? h('p', {class: 'because'}, inline(text(finding.gain.because))) : null,
    rule(finding, source));
}

function gain(finding) {
  const range = gainRange(part(finding.gain));
  if (!range) return null;
  return h('p', {class: 'gain'}, h('b', {}, range), h('span', {}, `faster, ${text(finding.gain.basis) || 'predicted'}`));
}

function snippet(fix) {
  const after = text(fix.after);
  if (!after) return null;
  const lines = difference(text(fix.before), after).map(({mark, line}) => h('span', {class: 'line', 'data-mark': mark}, line + '\n'));
  return h('div', {class: 'snippet'}, h('div', {class: 'strip'}, h('span', {}, text(fix.before) ? 'Change' : 'Use'), copyButton(after)),
    h('pre', {tabindex: '0', 'aria-label': 'Change in the code'}, h('code', {}, lines)));
}

export function copyButton(words) {
  const button = h('button', {type: 'button', class: 'copy', 'aria-live': 'polite', onclick: async () => {
    button.textContent = (await copied(words)) ? 'Copied' : 'Select it by hand';
    setTimeout(() => { button.textContent = 'Copy'; }, 2000);
  }}, 'Copy');
  return button;
}

async function copied(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    return copiedByHand(words); // TensorBoard on plain http: the clipboard is closed there
  }
}

function copiedByHand(words) {
  const area = h('textarea', {class: 'off-screen', 'aria-hidden': 'true'});
  const focused = document.activeElement;
  area.value = words;
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return done;
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
