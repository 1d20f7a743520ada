// Names of runs, as short as they stay distinct.

// Every run of a sweep may end in "/feedwatch": what all have in common at the end tells nothing.
export function commonEnd(names) {
  if (names.length < 2) return '';
  const split = names.map((name) => name.split('/').reverse());
  let shared = 0;
  while (split.every((parts) => parts.length > shared + 1 && parts[shared] === split[0][shared])) shared += 1;
  return shared ? '/' + split[0].slice(0, shared).reverse().join('/') : '';
}

export const withoutEnd = (name, end) => (end && name.endsWith(end) ? name.slice(0, name.length - end.length) : name);
