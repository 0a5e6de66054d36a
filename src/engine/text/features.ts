/**
 * Counts from which a linear function can estimate token counts for any tokeniser, in the order of `TextFeatures`.
 * `words` are runs of letters; `humps` are capitals after a lower-case letter within a word. `indents` are runs of at
 * least two blanks; `gaps` are the first blanks of all runs, which usually belong to the next word; `blanks` are the
 * other blanks. Cut markers are counted like other text and also separately, because tokenisers split their ids and
 * brackets into many tokens.
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
  'gaps',
  'blanks',
  'indents',
  'humps',
  'markers',
  'markerChars',
] as const;

/** One count per entry of `FEATURES`; additive over texts. */
export type TextFeatures = readonly number[];

const BLANK = 0;
const SMALL = 1;
const CAPITAL = 2;
const DIGIT = 3;
const SIGN = 4;
const LINE_END = 5;
const OTHER = 6;
/** A continuation byte of UTF-8. */
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

/** State within a run of blanks. */
const BLANKS = 8;
/** Next state, indexed by state (times 8) and class. */
const NEXT = new Uint8Array(72);
for (let state = 0; state < 9; state++) {
  for (let kind = 0; kind < 8; kind++) {
    const inBlanks = kind === BLANK && (state === BLANK || state === BLANKS);
    NEXT[state * 8 + kind] = kind === CONTINUED ? state : inBlanks ? BLANKS : kind;
  }
}

const BACKSLASH = 0x5c;
/** The first bytes of `⟦` and `⟧` in UTF-8. */
const BRACKET = [0xe2, 0x9f] as const;
const [OPEN, CLOSE] = [0xa6, 0xa7];

/** The features of the empty text. */
export function noFeatures(): number[] {
  return new Array<number>(FEATURES.length).fill(0);
}

/**
 * Counts the features of a JSON string in linear time, without decoding its escapes.
 *
 * @param into - receives the counts
 * @param json - contains the text at `[start, end)`, without quotes
 * @param times - 1 to add, -1 to subtract
 * @param marked - whether cut markers are also counted separately
 */
export function addFeatures(
  into: number[],
  json: Uint8Array,
  [start, end]: readonly [start: number, end: number],
  { times = 1, marked = false } = {},
): void {
  STEPS.fill(0);
  scan(json, start, end, STEPS);
  const letters = all(SMALL) + all(CAPITAL);
  const inside = step(SMALL, SMALL) + step(CAPITAL, SMALL) + step(SMALL, CAPITAL) + step(CAPITAL, CAPITAL);
  const [digits, signs, blanks] = [all(DIGIT), all(SIGN), step(BLANK, BLANK) + step(BLANKS, BLANK)];
  const add = (at: number, count: number): void => {
    into[at] = (into[at] ?? 0) + times * count;
  };
  add(0, letters);
  add(1, letters - inside);
  add(2, digits);
  add(3, digits - step(DIGIT, DIGIT));
  add(4, signs);
  add(5, signs - step(SIGN, SIGN));
  add(6, all(LINE_END));
  add(7, all(OTHER));
  add(8, all(BLANK) - blanks);
  add(9, blanks);
  add(10, step(BLANK, BLANK));
  add(11, step(SMALL, CAPITAL));
  if (!marked) return;
  const [markers, markerChars] = markersIn(json, start, end);
  add(12, markers);
  add(13, markerChars);
}

/** Counts of consecutive class pairs in the current text. */
const STEPS = new Int32Array(72);

/** Number of characters of class `to` that follow class `from` (or the state within blanks). */
function step(from: number, to: number): number {
  return STEPS[from * 8 + to] ?? 0;
}

/** Number of characters of a class. */
function all(kind: number): number {
  let sum = 0;
  for (let state = 0; state < 9; state++) sum += step(state, kind);
  return sum;
}

/** Counts consecutive class pairs. Does nothing else, because it runs over every byte. */
function scan(json: Uint8Array, start: number, end: number, steps: Int32Array): void {
  let state = LINE_END;
  for (let i = start; i < end; i++) {
    const byte = json[i] as number;
    let kind = CLASSES[byte] as number;
    if (byte === BACKSLASH) {
      const letter = json[i + 1];
      kind = escaped(letter);
      i += letter === UNICODE ? 5 : 1;
    }
    const step = state * 8 + kind;
    steps[step] = (steps[step] as number) + 1;
    state = NEXT[step] as number;
  }
}

/** Number of markers in a text, and of characters in them. */
function markersIn(json: Uint8Array, start: number, end: number): readonly [markers: number, chars: number] {
  let [markers, chars] = [0, 0];
  for (let at = json.indexOf(BRACKET[0], start); at >= 0 && at < end; at = json.indexOf(BRACKET[0], at + 1)) {
    if (json[at + 1] !== BRACKET[1] || json[at + 2] !== OPEN) continue;
    markers++;
    for (const close = markerEnd(json, at, end); at < close; at++) if (CLASSES[json[at] ?? 0] !== CONTINUED) chars++;
    at--;
  }
  return [markers, chars];
}

const UNICODE = 0x75;

/** Class of an escaped character, by the byte after the backslash. */
function escaped(byte: number | undefined): number {
  if (byte === 0x6e || byte === 0x72) return LINE_END;
  if (byte === 0x74) return BLANK;
  return byte === UNICODE ? OTHER : SIGN;
}

/** End of the marker that begins at `at`, at most the end of its line. */
function markerEnd(json: Uint8Array, at: number, end: number): number {
  for (let i = at + 3; i < end; i++) {
    if (json[i] === BACKSLASH) return i;
    if (json[i] === CLOSE && json[i - 1] === BRACKET[1] && json[i - 2] === BRACKET[0]) return i + 1;
  }
  return end;
}
