// What surrounds the tab: TensorBoard's theme, its address bar and its reload button. All of it may be missing.

const RUN_KEY = 'p.feedwatch.run';
const COMPARE_KEY = 'p.feedwatch.compare';
const BASELINE_KEY = 'p.feedwatch.baseline';

function parentWindow() {
  try {
    return window.parent !== window && window.parent.document ? window.parent : null;
  } catch {
    return null; // a foreign page embeds us: its document is closed to us
  }
}

// The frame has no theme of its own: TensorBoard toggles `dark-mode` on its body. The HTML file follows the system.
export function followTheme() {
  const body = parentWindow()?.document.body;
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  const apply = () => {
    const dark = body ? body.classList.contains('dark-mode') : system.matches;
    document.documentElement.classList.toggle('dark', dark);
  };
  if (body) new MutationObserver(apply).observe(body, {attributes: true, attributeFilter: ['class']});
  else system.addEventListener('change', apply);
  apply();
}

const ownerOfAddress = () => parentWindow() || window;
const onOurTab = () => !parentWindow() || /^#feedwatch(&|$)/.test(parentWindow().location.hash);

/** What the address asks for. A run of null: nothing is named. */
export function linkedView() {
  const params = new URLSearchParams(ownerOfAddress().location.hash.slice(1));
  return {run: params.get(RUN_KEY), compare: params.getAll(COMPARE_KEY), baseline: params.get(BASELINE_KEY)};
}

// The address names what is on the screen, so that it can be sent to a colleague. What the reader chose becomes a place
// to come back to; what the page chose by itself does not.
export function linkTo({run, compare, baseline}, chosen) {
  const owner = ownerOfAddress(), params = new URLSearchParams();
  if (!onOurTab()) return; // the user has gone to another tab
  if (compare.length) compare.forEach((name) => params.append(COMPARE_KEY, name));
  else params.set(RUN_KEY, run ?? '');
  if (compare.length && baseline !== null) params.set(BASELINE_KEY, baseline);
  const address = '#' + (parentWindow() ? 'feedwatch&' : '') + params;
  if (address === owner.location.hash) return;
  try {
    owner.history[chosen ? 'pushState' : 'replaceState'](owner.history.state, '', address);
  } catch {
    // a browser that refuses keeps the old address; the page is the same
  }
}

/** Back, forward, and an address that somebody edits. */
export function onAddress(follow) {
  const told = () => { if (onOurTab()) follow(linkedView()); };
  ownerOfAddress().addEventListener('popstate', told);
  ownerOfAddress().addEventListener('hashchange', told);
}

// TensorBoard tells its frames that it has reloaded, through a channel that it calls experimental.
export function onReload(reload) {
  const channel = new MessageChannel();
  channel.port1.onmessage = (event) => {
    let message;
    try { message = JSON.parse(event.data); } catch { return; }
    if (!message || message.isReply) return;
    const answer = {type: message.type, id: message.id, payload: null, error: null, isReply: true};
    channel.port1.postMessage(JSON.stringify(answer));
    if (message.type === 'experimental.DataReloaded') reload();
  };
  if (parentWindow()) window.parent.postMessage('experimental.bootstrap', window.location.origin, [channel.port2]);
}

// TensorBoard keeps a hidden tab's frame and gives it no height.
export const onScreen = () => !document.hidden && window.innerHeight > 20;
