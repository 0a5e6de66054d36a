/**
 * Counts of which the number of tokens is nearly a linear function, whatever the tokeniser. The order is that of `TextFeatures`.
 * `words` are runs of letters, `humps` are capitals behind a small letter inside of one. `indents` are runs of two blanks or
 * more, and `blanks` are all blanks but the first of each run: that one is mostly a part of the word behind it. Markers of
 * cuts count like any text and once more by themselves, because their ids and brackets are rare words to a tokeniser.
 */
export const FEATURES = [
  'letters',
  'words',
  'digits',
  'numbers',
  'signs',
  'signRuns',
  'lineEnds',
  'others',
  'blanks',
  'indents',
  'humps',
  'markers',
  'markerChars',
] as const;

/** One count for each of `FEATURES`; sums and differences of texts are those of their counts. */
export type TextFeatures = readonly number[];

const BLANK = 0;
const SMALL = 1;
const CAPITAL = 2;
const DIGIT = 3;
const SIGN = 4;
const LINE_END = 5;
const OTHER = 6;
/** A later byte of a character that has several: it belongs to the first. */
const CONTINUED = 7;

const CLASSES = new Uint8Array(256)
  .fill(BLANK, 0, 33)
  .fill(SIGN, 33, 128)
  .fill(CONTINUED, 128, 192)
  .fill(OTHER, 192)
  .fill(DIGIT, 48, 58)
  .fill(CAPITAL, 65, 91)
  .fill(SMALL, 97, 123);
CLASSES[0x0a] = LINE_END;

const BACKSLASH = 0x5c;
/** How `⟦` and `⟧` begin and end in UTF-8. */
const BRACKET = [0xe2, 0x9f] as const;
const [OPEN, CLOSE] = [0xa6, 0xa7];

/** Features of nothing. */
export function noFeatures(): number[] {
  return new Array<number>(FEATURES.length).fill(0);
}

/**
 * Counts the features of a text that stands in JSON, in its escapes: linear, without decoding it.
 *
 * @param into - where the counts are added
 * @param json - holds the text at `[start, end)`, without its quotes
 * @param times - 1 to add, -1 to subtract
 * @param marked - the text may hold markers of cuts, which count as such
 */
export function addFeatures(
  into: number[],
  json: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  { times = 1, marked = false } = {},
): void {
  const counts = new Float64Array(8);
  let [words, numbers, signRuns, indents, humps, markers, markerChars] = [0, 0, 0, 0, 0, 0, 0];
  let previous = LINE_END;
  let run = 0;
  let markerEnds = start;
  for (let i = start; i < end; i++) {
    const byte = json[i] ?? 0;
    let kind = CLASSES[byte] ?? OTHER;
    if (kind === CONTINUED) continue;
    if (byte === BACKSLASH) {
      kind = escaped(json[i + 1]);
      i += json[i + 1] === UNICODE ? 5 : 1;
    } else if (marked && byte === BRACKET[0] && json[i + 1] === BRACKET[1] && json[i + 2] === OPEN) {
      markerEnds = markerEnd(json, i, end);
      markers++;
    }
    if (i < markerEnds) markerChars++;
    if (kind !== previous) {
      const inWord = previous === SMALL || previous === CAPITAL;
      if (kind === SMALL || kind === CAPITAL) {
        if (!inWord) words++;
        else if (kind === CAPITAL) humps++;
      } else if (kind === DIGIT) numbers++;
      else if (kind === SIGN) signRuns++;
      run = 0;
    }
    if (kind === BLANK && ++run === 2) indents++;
    if (kind !== BLANK || run > 1) counts[kind] = (counts[kind] ?? 0) + 1;
    previous = kind;
  }
  const of = (kind: number): number => counts[kind] ?? 0;
  const all = [
    of(SMALL) + of(CAPITAL),
    words,
    of(DIGIT),
    numbers,
    of(SIGN),
    signRuns,
    of(LINE_END),
    of(OTHER),
    of(BLANK),
  ];
  [...all, indents, humps, markers, markerChars].forEach((value, at) => {
    into[at] = (into[at] ?? 0) + times * value;
  });
}

const UNICODE = 0x75;

/** The class of what an escape stands for, by the byte behind its backslash. */
function escaped(byte: number | undefined): number {
  if (byte === 0x6e || byte === 0x72) return LINE_END;
  if (byte === 0x74) return BLANK;
  return byte === UNICODE ? OTHER : SIGN;
}

/** Where a marker ends that begins at `at`; where its line ends, at the latest. */
function markerEnd(json: Uint8Array, at: number, end: number): number {
  for (let i = at + 3; i < end; i++) {
    if (json[i] === BACKSLASH) return i;
    if (json[i] === CLOSE && json[i - 1] === BRACKET[1] && json[i - 2] === BRACKET[0]) return i + 1;
  }
  return end;
}
