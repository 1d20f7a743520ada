// The page without data says exactly what to do.
import {h} from './dom.js';
import {copyButton} from './clipboard.js';

const LIGHTNING = 'from feedwatch.lightning import FeedWatch\n\ntrainer = Trainer(callbacks=[FeedWatch()])';
const KERAS = 'from feedwatch.keras import FeedWatch\n\nmodel.fit(data, callbacks=[FeedWatch("runs/a")])';

export function emptyState() {
  return h('main', {class: 'empty'}, h('h1', {}, 'No Feedwatch report in this log directory yet'),
    h('p', {class: 'detail'}, 'Add one callback to the training script. The first report appears here by itself, a few seconds into the training.'),
    h('div', {class: 'pair'}, example('Lightning', LIGHTNING), example('Keras', KERAS)),
    h('h2', {}, 'It is there already?'),
    h('ul', {}, h('li', {}, 'The training must write below the directory that TensorBoard was started with (', h('code', {}, '--logdir'), ').'),
      h('li', {}, h('code', {}, 'feedwatch doctor'), ' says whether this TensorBoard and the training use the same environment.'),
      h('li', {}, h('code', {}, 'feedwatch demo'), ' makes a run to look at, in about a minute.')));
}

function example(title, words) {
  return h('section', {class: 'card'}, h('h2', {}, title),
    h('div', {class: 'snippet'}, h('div', {class: 'strip'}, h('span', {}, 'In the training script'), copyButton(words)),
      h('pre', {tabindex: '0'}, h('code', {}, words))));
}

export function trouble(message, retry) {
  return h('main', {class: 'empty'}, h('h1', {}, 'TensorBoard does not answer'), h('p', {class: 'detail'}, message),
    h('button', {type: 'button', class: 'button', onclick: retry}, 'Try again'));
}
