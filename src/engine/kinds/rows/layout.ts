import { BAR, COLON, COMMA, EQUALS, QUOTE, SPACE, TAB } from '../../text/chars.ts';
import { isBlankLine, type View } from '../../text/view.ts';
import type { RowScope } from '../kind.ts';

/** How the columns of rows are found. */
export type Layout = 'bars' | 'tabs' | 'commas' | 'aligned' | 'words' | 'key';

/** Rows with the same layout: equal separators, or the second column at the same position. */
export interface RowGroup {
  readonly layout: Layout;
  /** Number of words in rows that consist of words; otherwise 0. */
  readonly words: number;
  /** Line indices, ascending. */
  readonly rows: number[];
}

/** Maximum number of characters read per line. Set by hand: state columns precede free text. */
export const READ_CHARS = 400;
/** Maximum length of the key in a `key: value` line, in characters. */
const MAX_KEY = 40;
/** Maximum number of words in a row without other separators; more are prose. */
const MOST_WORDS = 12;
/** Box-drawing characters that separate columns: `│`, `┃`, `║`. */
export function isBoxBar(code: number): boolean {
  return code === 0x2502 || code === 0x2503 || code === 0x2551;
}

/** Classes of characters; all others are 0. */
const BLANK = 1;
const SIGN = 2;
const SEPARATOR = 3;
const CLASSES = new Uint8Array(65536).fill(SIGN, 0x2001).fill(SIGN, 0, 48).fill(SIGN, 58, 65);
for (const code of [BAR, QUOTE, COMMA, COLON, EQUALS, 0x2502, 0x2503, 0x2551]) CLASSES[code] = SEPARATOR;
CLASSES[SPACE] = BLANK;
CLASSES[TAB] = BLANK;

const LAYOUTS: readonly Layout[] = ['bars', 'tabs', 'commas', 'aligned', 'words', 'key'];
/** Group keys are the layout's index plus a multiple of this. */
const KINDS = 8;

/** Number of leading layouts that are tables rather than sentences. */
const OF_TABLES = 4;

/**
 * Divides the lines `[first, end)` into groups of rows; lines with a key (`key: value`, `key = value`) also belong to
 * their key's group.
 */
export function rowGroups(
  view: View,
  first: number,
  end: number,
  scope: RowScope,
  isCandidate: (line: number) => boolean,
): RowGroup[] {
  const groups = new Map<number, RowGroup>();
  const add = (key: number, i: number): void => {
    const group = groups.get(key);
    if (group) group.rows.push(i);
    else {
      const layout = LAYOUTS[key % KINDS] ?? 'words';
      groups.set(key, { layout, words: layout === 'words' ? Math.floor(key / KINDS) : 0, rows: [i] });
    }
  };
  for (let i = first; i < end; i++) {
    if (isBlankLine(view, i) || !isCandidate(i) || (scope === 'bars' && view.codes[view.firstNonBlank[i] ?? 0] !== BAR))
      continue;
    const { layout, key } = lineLayout(view, i);
    if (layout >= 0 && scope !== 'keys' && (scope !== 'tables' || layout % KINDS < OF_TABLES)) add(layout, i);
    if (key >= 0 && scope !== 'tables') add(key, i);
  }
  return [...groups.values()];
}

/** Hashes a key and its indentation to 21 bits. */
function keyHash(codes: Uint16Array, start: number, end: number, indent: number): number {
  let hash = 0x811c9dc5 ^ indent;
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (codes[at] ?? 0), 0x01000193);
  return hash >>> 11;
}

/** Whether a colon or an equals sign with blanks around it ends a key. */
function isKeyEnd(codes: Uint16Array, at: number, end: number): boolean {
  if (CLASSES[at + 1 < end ? (codes[at + 1] ?? 0) : SPACE] !== BLANK) return false;
  return codes[at] === COLON || CLASSES[codes[at - 1] ?? 0] === BLANK;
}

/** Offset of the sign that ends a line's key. */
export function keyEnd(text: string, start: number): number {
  for (let at = start; at < text.length; at++) {
    const sign = text[at];
    if (sign === '\n') break;
    if (sign === ':' && /\s/.test(text[at + 1] ?? ' ')) return at;
    if (sign === '=' && text[at - 1] === ' ' && /\s/.test(text[at + 1] ?? ' ')) return at;
  }
  return start;
}

const found = { layout: -1, key: -1 };

/** Keys of a line's groups; -1 for none. The returned object is reused. */
function lineLayout(
  { codes, from, firstNonBlank, to }: View,
  i: number,
): { readonly layout: number; readonly key: number } {
  const origin = from[i] ?? 0;
  const start = firstNonBlank[i] ?? 0;
  const end = Math.min(to[i] ?? 0, start + READ_CHARS);
  let [bars, tabs, commas, words, gap, blanks] = [0, 0, 0, 1, -1, 0];
  let signs = 0;
  let quoted = false;
  let colon = -1;
  for (let at = start; at < end; at++) {
    const code = codes[at] ?? 0;
    const kind = CLASSES[code];
    if (kind === BLANK) {
      blanks++;
      if (code === TAB) tabs++;
      continue;
    }
    if (blanks > 0) {
      words++;
      if (blanks > 1 && gap < 0) gap = at - origin;
      blanks = 0;
    }
    if (kind === 0) continue;
    signs++;
    if (kind === SIGN) continue;
    if (code === QUOTE) quoted = !quoted;
    else if (code === COMMA) commas += quoted ? 0 : 1;
    else if (code !== COLON && code !== EQUALS) bars++;
    else if (colon < 0 && at > start && isKeyEnd(codes, at, end)) colon = at;
  }
  found.key = colon < 0 || colon - start > MAX_KEY ? -1 : keyHash(codes, start, colon, start - origin) * KINDS + 5;
  // rulers have no columns
  if (signs === 0 || signs < (end - start) * 0.7) {
    if (bars > 0) found.layout = Math.min(bars, 99) * KINDS;
    else if (tabs > 0) found.layout = Math.min(tabs, 99) * KINDS + 1;
    else if (gap >= 0) found.layout = gap * KINDS + 3;
    else if (commas > 1) found.layout = Math.min(commas, 99) * KINDS + 2;
    else if (words > 1 && words <= MOST_WORDS) found.layout = words * KINDS + 4;
    else found.layout = -1;
  } else found.layout = -1;
  return found;
}
