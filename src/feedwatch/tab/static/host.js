// What surrounds the tab: TensorBoard's theme, its address bar and its reload button. All of it may be missing.

const RUN_KEY = 'p.feedwatch.run';
const COMPARE_KEY = 'p.feedwatch.compare';

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

export function linkedView() {
  const params = new URLSearchParams((parentWindow() || window).location.hash.slice(1));
  return {run: params.get(RUN_KEY), compare: params.getAll(COMPARE_KEY)};
}

// The address names what is on the screen, so that it can be sent to a colleague. No history entry, no reload.
export function linkTo(run, compare) {
  const owner = parentWindow();
  const params = new URLSearchParams();
  if (compare.length) compare.forEach((name) => params.append(COMPARE_KEY, name));
  else params.set(RUN_KEY, run ?? '');
  const tab = owner ? 'feedwatch&' : '';
  if (owner && !/^#feedwatch(&|$)/.test(owner.location.hash)) return; // the user has gone to another tab
  try {
    (owner || window).history.replaceState((owner || window).history.state, '', '#' + tab + params);
  } catch {
    // a browser that refuses keeps the old address; the page is the same
  }
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
