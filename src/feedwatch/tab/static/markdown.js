// The little Markdown that rule pages use, straight into elements. Links show their text and address; none is live.
import {h} from './dom.js';

export function markdown(source) {
  const lines = String(source).replace(/\r/g, '').split('\n');
  const blocks = [];
  let at = 0;
  while (at < lines.length) {
    const reader = READERS.find((r) => r.starts.test(lines[at]));
    const [block, next] = reader.read(lines, at);
    if (block) blocks.push(block);
    at = next;
  }
  return blocks;
}

const READERS = [
  {starts: /^\s*$/, read: (lines, at) => [null, at + 1]},
  {starts: /^\s*```/, read: fenced},
  {starts: /^#{1,6}\s/, read: heading},
  {starts: /^\s*([-*+]|\d+\.)\s/, read: items},
  {starts: /^/, read: paragraph},
];

function fenced(lines, at) {
  let end = at + 1;
  while (end < lines.length && !/^\s*```/.test(lines[end])) end += 1;
  return [h('pre', {tabindex: '0'}, h('code', {}, lines.slice(at + 1, end).join('\n'))), end + 1];
}

function heading(lines, at) {
  const [, marks, words] = lines[at].match(/^(#+)\s+(.*)$/) || [null, '#', lines[at]];
  // The page stands inside a card whose own heading is an h3.
  return [h(marks.length === 1 ? 'h4' : 'h5', {}, inline(words)), at + 1];
}

function items(lines, at) {
  const ordered = /^\s*\d+\./.test(lines[at]);
  const entries = [];
  let end = at;
  for (; end < lines.length && lines[end].trim(); end += 1) {
    const found = lines[end].match(/^\s*(?:[-*+]|\d+\.)\s+(.*)$/);
    if (found) entries.push(found[1]);
    else entries[entries.length - 1] += ' ' + lines[end].trim();
  }
  return [h(ordered ? 'ol' : 'ul', {}, entries.map((entry) => h('li', {}, inline(entry)))), end];
}

function paragraph(lines, at) {
  let end = at;
  while (end < lines.length && lines[end].trim() && (end === at || !/^(#{1,6}\s|\s*```|\s*[-*+]\s)/.test(lines[end]))) end += 1;
  return [h('p', {}, inline(lines.slice(at, end).join(' '))), end];
}

const INLINE = /(`[^`]+`|\*\*[^*]+\*\*|\[[^\]]+\]\([^)\s]*\))/;

// Rules put names of the user's code between backticks in plain sentences, too.
export function inline(words) {
  return words.split(INLINE).filter(Boolean).map((piece) => {
    if (/^`[^`]+`$/.test(piece)) return h('code', {}, piece.slice(1, -1));
    if (/^\*\*[^*]+\*\*$/.test(piece)) return h('strong', {}, piece.slice(2, -2));
    const link = piece.match(/^\[([^\]]+)\]\(([^)\s]*)\)$/);
    return link ? linkText(link[1], link[2]) : piece;
  });
}

function linkText(words, address) {
  return words === address || !address ? words : [words, h('span', {class: 'address'}, ` (${address})`)];
}
