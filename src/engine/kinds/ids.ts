import { COLON, DOT, SLASH, SPACE } from '../text/chars.ts';
import type { View } from '../text/view.ts';
import type { Inner, Protect } from './kind.ts';

/** If a larger share of lines has new ids, the ids are data, as in a log with one request per line. Set by hand. */
const MOST_SHARE = 0.1;
/** Up to this many lines with new ids are kept in any text. */
const FEW_LINES = 3;
/**
 * A text counts as a list of records, which the next call may refer to, if at most this many lines and at least this
 * share have new ids. Set by hand: about a screen.
 */
const MOST_RECORDS = 60;
const RECORDS_SHARE = 0.5;
/** Maximum number of characters read per line. */
const READ_CHARS = 2_000;
/** Number of commits to keep of a longer list. Set by hand: about a screen. */
const MOST_COMMITS = 60;
/** Lengths of hashes and numeric ids, and the pattern of prefixed ids (`ses_32a7c692bffe`). */
const HASH = { least: 7, most: 40 };
const NUMBER = { least: 8, most: 20 };
const BEHIND_WORD = /^[a-z]{2,12}_(?=.*\d)[A-Za-z0-9]{8,64}$/;

/**
 * Keeps lines with an id that did not occur before, if they are few or the text is a short list of records, and the
 * first commits of a list with one commit per line. The next call may refer to such an id.
 *
 * @param block - the block of each line in a log, where only the first line with a new id per block stays; `null` for
 * other texts
 */
export function protectIds(view: View, inner: Inner, block: Int32Array | null, protect: Protect): void {
  let before = -1;
  for (const line of linesWithNewIds(view, inner)) {
    if (block === null || block[line] !== before) protect(line, 'id');
    before = block?.[line] ?? -1;
  }
  protectCommits(view, inner, protect);
}

function linesWithNewIds({ text, codes, n, firstNonBlank, to }: View, { first, end }: Inner): number[] {
  const few = Math.max(FEW_LINES, n * MOST_SHARE);
  const most = Math.max(few, MOST_RECORDS);
  const seen = new Set<string>();
  const lines: number[] = [];
  for (let i = first; i < end; i++) {
    const start = firstNonBlank[i] ?? 0;
    const known = seen.size;
    eachId(text, codes, start, Math.min(to[i] ?? 0, start + READ_CHARS), (id) => seen.add(id));
    if (seen.size === known) continue;
    lines.push(i);
    if (lines.length > most) return [];
  }
  const areRecords = lines.length <= MOST_RECORDS && lines.length >= (end - first) * RECORDS_SHARE;
  return lines.length <= few || areRecords ? lines : [];
}

function protectCommits({ codes, firstNonBlank, to }: View, { first, end }: Inner, protect: Protect): void {
  let before = false;
  let left = MOST_COMMITS;
  for (let i = first; i < end && left > 0; i++) {
    const begins = beginsWithHash(codes, firstNonBlank[i] ?? 0, to[i] ?? 0);
    if (begins && before) {
      protect(i - 1, 'id');
      protect(i, 'id');
      left--;
    }
    before = begins;
  }
}

/** Character classes as bits, combined with `|` over a word. */
const FIGURE = 1;
const HEX_LETTER = 2;
const LETTER = 4;
const UNDERSCORE = 8;
const CLASSES = new Uint8Array(65536).fill(FIGURE, 48, 58).fill(LETTER, 65, 91).fill(LETTER, 97, 123);
CLASSES.fill(HEX_LETTER, 97, 103);
CLASSES[95] = UNDERSCORE;

/**
 * Calls `found` with each word in `[at, end)` that is a hash, a long number or an id with a prefix, except parts of paths,
 * file names, hosts, versions and fractions. In an address, ids count (`https://host/runs/30442391378`).
 */
function eachId(text: string, codes: Uint16Array, at: number, end: number, found: (id: string) => void): void {
  let start = at;
  let seen = 0;
  let read = at;
  let place = PLACE.none;
  for (let i = at; i <= end; i++) {
    const kind = i < end ? (CLASSES[codes[i] ?? 0] ?? 0) : 0;
    if (kind !== 0) {
      seen |= kind;
      continue;
    }
    const length = i - start;
    if (length >= HASH.least && (seen & FIGURE) !== 0 && isId(text, seen, start, i)) {
      for (; read < start; read++) place = placeBehind(codes, read, place);
      const opensPath = place === PLACE.none && i < end && codes[i] === SLASH;
      if (place !== PLACE.path && !opensPath && !isInName(codes, start, i, end)) found(text.slice(start, i));
    }
    start = i + 1;
    seen = 0;
  }
}

const PLACE = { none: 0, path: 1, address: 2 };
/** Characters that do not end a path or an address. */
const JOINING = new Uint8Array(65536).fill(1, 48, 58).fill(1, 65, 91).fill(1, 97, 123);
for (const sign of '-_.~+@%:?&=#!/') JOINING[sign.charCodeAt(0)] = 1;

/** The place after the character at `at`, which itself is in `place`. */
function placeBehind(codes: Uint16Array, at: number, place: number): number {
  const code = codes[at] ?? 0;
  if (JOINING[code] === 0) return PLACE.none;
  if (code !== SLASH || place !== PLACE.none) return place;
  return codes[at - 1] === COLON ? PLACE.address : PLACE.path;
}

/** Whether a dot joins a word to another. Two dots separate the ends of a range. */
function isInName(codes: Uint16Array, start: number, at: number, end: number): boolean {
  const before = codes[start - 1] === DOT && (CLASSES[codes[start - 2] ?? 0] ?? 0) !== 0;
  return before || (at + 1 < end && codes[at] === DOT && (CLASSES[codes[at + 1] ?? 0] ?? 0) !== 0);
}

function isId(text: string, seen: number, start: number, end: number): boolean {
  const length = end - start;
  if (seen === (FIGURE | HEX_LETTER)) return length <= HASH.most;
  if (seen === FIGURE) return length >= NUMBER.least && length <= NUMBER.most;
  return (seen & UNDERSCORE) !== 0 && BEHIND_WORD.test(text.slice(start, end));
}

/** Graph characters that `git log --graph` prints before a commit. */
const GRAPH = new Set([...'*|\\/_ '].map((sign) => sign.charCodeAt(0)));

/** Whether a line begins with a commit hash, optionally after a graph. */
function beginsWithHash(codes: Uint16Array, from: number, end: number): boolean {
  let at = from;
  while (at < end && GRAPH.has(codes[at] ?? 0)) at++;
  const start = at;
  let seen = 0;
  while (at < end && (CLASSES[codes[at] ?? 0] ?? 0) !== 0 && at - start <= HASH.most)
    seen |= CLASSES[codes[at++] ?? 0] ?? 0;
  const length = at - start;
  return seen === (FIGURE | HEX_LETTER) && length >= HASH.least && length <= HASH.most && codes[at] === SPACE;
}
