// Copying, also where the browser closes the clipboard.
import {h} from './dom.js';

export function copyButton(words, label = 'Copy', kind = 'copy') {
  const button = h('button', {type: 'button', class: kind, 'aria-live': 'polite', onclick: async () => {
    const done = await copied(typeof words === 'function' ? words() : words);
    button.textContent = done ? 'Copied' : 'Select it by hand';
    setTimeout(() => { button.textContent = label; }, 2000);
  }}, label);
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
