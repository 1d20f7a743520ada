// Two short pieces of code as one list of lines: removed, added and kept.
const MAX_LINES = 200; // the table below grows with the square

/** @returns [{mark: ' ' | '-' | '+', line}] */
export function difference(before, after) {
  const a = before ? before.split('\n') : [], b = after ? after.split('\n') : [];
  if (!a.length || a.length > MAX_LINES || b.length > MAX_LINES) return b.map((line) => ({mark: ' ', line}));
  const common = commonLengths(a, b);
  const out = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) { out.push({mark: ' ', line: a[i]}); i += 1; j += 1; }
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) { out.push({mark: '-', line: a[i]}); i += 1; }
    else { out.push({mark: '+', line: b[j]}); j += 1; }
  }
  return out;
}

// common[i][j]: the longest common subsequence of a from i on and b from j on
function commonLengths(a, b) {
  const table = Array.from({length: a.length + 1}, () => new Array(b.length + 1).fill(0));
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      table[i][j] = a[i] === b[j] ? table[i + 1][j + 1] + 1 : Math.max(table[i + 1][j], table[i][j + 1]);
    }
  }
  return table;
}
