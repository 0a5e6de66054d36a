/** Characters that paths in front of hits consist of. */
const OF_PATHS = new Uint8Array(65536).fill(1, 48, 58).fill(1, 64, 91).fill(1, 95, 96).fill(1, 97, 123);
for (const sign of '.~+/-') OF_PATHS[sign.charCodeAt(0)] = 1;

const DASH = 45;
const SLASH = 47;
const COLON = 58;

/**
 * Whether the line in `[from, to)` is one of a search: `src/a.ts:12:`, `src/a.ts-12-`, `src/a.ts:` or the `--` between hits.
 * What the pattern of the shape `grep` says, without its going back and forth.
 */
export function isHit(codes: Uint16Array, from: number, to: number): boolean {
  let slash = -1;
  let at = from;
  while (at < to && OF_PATHS[codes[at] ?? 0] === 1) {
    const code = codes[at];
    if (code === DASH && at > from && numbered(codes, at + 1, to)) return true;
    if (code === SLASH && slash < 0) slash = at;
    at++;
  }
  if (at === to) return to - from === 2 && codes[from] === DASH && codes[from + 1] === DASH;
  if (at === from || codes[at] !== COLON) return false;
  if (numbered(codes, at + 1, to)) return true;
  const isAddress = at + 2 < to && codes[at + 1] === SLASH && codes[at + 2] === SLASH;
  return slash >= 0 && slash < at - 1 && !isAddress;
}

/** Whether a number with a colon or a dash behind it stands at a place. */
function numbered(codes: Uint16Array, start: number, to: number): boolean {
  let at = start;
  while (at < to && (codes[at] ?? 0) >= 48 && (codes[at] ?? 0) <= 57) at++;
  return at > start && at < to && (codes[at] === COLON || codes[at] === DASH);
}
