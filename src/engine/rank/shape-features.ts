import type { Vocabulary } from '../goal/vocabulary.ts';
import { Matcher } from '../rules/matcher.ts';
import {
  APOSTROPHE,
  BACKTICK,
  CLOSING_SQUARE,
  COLON,
  DOT,
  EQUALS,
  EXCLAMATION,
  GREATER,
  isDigit,
  isLetter,
  LESS,
  OPENING_BRACKET,
  QUOTE,
  SLASH,
} from '../text/chars.ts';
import type { Templates } from '../text/templates.ts';
import { DECLARED, isBlankLine, type Units, type View } from '../text/view.ts';
import { flag, logOf, type Measure, measure } from './measures.ts';

/** Classifies lines by their beginning. */
const RULES = new Matcher([
  { name: 'comment', pattern: /^\s*(?:#(?!\s*(?:include|define|if|endif|else|ifdef))|\/\/|\/\*|\*|"""|'''|--|<!--)/ },
  { name: 'closer', pattern: /^\s*(?:[)\]};,][\s)\]};,]*|end)$/ },
  { name: 'heading', pattern: /^#{1,6}\s|^[=~^-]{4,}$/ },
  { name: 'list', pattern: /^\s*(?:[-*+]|\d+\.)\s/ },
]);
const IS_COMMENT = RULES.bitsOf('comment');
const IS_CLOSER = RULES.bitsOf('closer');
const IS_HEADING = RULES.bitsOf('heading');
const IS_LIST = RULES.bitsOf('list');
/** Further bits, after the bits of the rules. */
const BLANK = 16;
const DECLARES = 32;
const IMPORTS = 64;
/** Scales the rarity of a word to about 0..1. Set by hand; the weights were fitted to it, and to the next. */
const RARE = 8;
/** Scales logarithms of lines, characters and words to about 0..1. */
const SCALE = { lines: 6, chars: 6, words: 4 };
/** Number of lines over which the effect of a text edge fades. Set by hand; the weights were fitted to it. */
const EDGE = 20;
const READ_CHARS = 200;
/** Weight of a line near a text edge, by its distance. */
const FADING = Float64Array.from({ length: 400 }, (_, k) => Math.exp(-k / EDGE));

/** Measures line features that do not depend on the goal. */
export function measureShapes(view: View, units: Units, templates: Templates, words: Vocabulary): Measure[] {
  const signs = new Uint8Array(view.n);
  readSigns(view, signs);
  return [
    ...measureOpenings(view, units),
    ...measurePlaces(view, units, templates, words),
    flag('calls', signs, CALLS),
    flag('assigns', signs, ASSIGNS),
    flag('quotes', signs, QUOTES),
    flag('digits', signs, DIGITS),
    flag('version', signs, VERSION),
    flag('link', signs, LINK),
    flag('tick', signs, TICK),
    measure('rarity', rarity(view, words)),
  ];
}

function measureOpenings(view: View, units: Units): Measure[] {
  const natures = new Uint8Array(view.n);
  for (let i = 0; i < natures.length; i++) natures[i] = isBlankLine(view, i) ? BLANK : natureOf(view, units, i);
  return [
    flag('blank', natures, BLANK),
    flag('comment', natures, IS_COMMENT),
    flag('closer', natures, IS_CLOSER),
    flag('declares', natures, DECLARES),
    flag('imports', natures, IMPORTS),
    flag('heading', natures, IS_HEADING),
    flag('list', natures, IS_LIST),
  ];
}

function natureOf(view: View, { declared }: Units, i: number): number {
  const declares = declared[i] ?? 0;
  const nature = declares === DECLARED.none ? 0 : declares === DECLARED.import ? IMPORTS : DECLARES;
  const begins = RULES.matches(view, i, READ_CHARS);
  // a line in a comment is not a closing line
  return nature | ((begins & IS_COMMENT) === 0 ? begins : begins & ~IS_CLOSER);
}

/** Measures the position, the length and the repetition of each line. */
function measurePlaces(
  { n, firstNonBlank, to }: View,
  { unit }: Units,
  { count, shape }: Templates,
  words: Vocabulary,
): Measure[] {
  const depth = new Float64Array(n);
  const length = new Float64Array(n);
  const position = new Float64Array(n);
  const top = new Float64Array(n);
  const end = new Float64Array(n);
  const seen = new Float64Array(n);
  const spoken = new Float64Array(n);
  let start = 0;
  for (let i = 0; i < n; i++) {
    if (i > 0 && unit[i] !== unit[i - 1]) start = i;
    depth[i] = logOf(i - start) / SCALE.lines;
    length[i] = logOf((to[i] ?? 0) - (firstNonBlank[i] ?? 0)) / SCALE.chars;
    position[i] = i / n;
    seen[i] = logOf((count[shape[i] ?? 0] ?? 1) - 1) / SCALE.lines;
    spoken[i] = logOf(words.spoken[i] ?? 0) / SCALE.words;
  }
  const edge = Math.min(n, FADING.length);
  for (let k = 0; k < edge; k++) top[k] = end[n - 1 - k] = FADING[k] ?? 0;
  return [
    measure('length', length),
    measure('depthInUnit', depth),
    measure('position', position),
    measure('top', top),
    measure('end', end),
    measure('seen', seen),
    measure('words', spoken),
  ];
}

/** Mean rarity of a line's words within the text. */
function rarity({ n }: View, { ids, first, lineCount, size }: Vocabulary): Float64Array {
  const rare = new Float64Array(size);
  for (let id = 0; id < size; id++) rare[id] = Math.log(1 + n / ((lineCount[id] ?? 0) + 0.5)) / RARE;
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const from = first[i] ?? 0;
    const to = first[i + 1] ?? 0;
    let sum = 0;
    for (let k = from; k < to; k++) sum += rare[ids[k] ?? 0] ?? 0;
    out[i] = to > from ? sum / (to - from) : 0;
  }
  return out;
}

/** Kinds of characters in a line, as bits. */
const CALLS = 1;
const ASSIGNS = 2;
const QUOTES = 4;
const DIGITS = 8;
const VERSION = 16;
const LINK = 32;
const TICK = 64;

function readSigns(view: View, signs: Uint8Array): void {
  for (let i = 0; i < signs.length; i++) if (!isBlankLine(view, i)) signs[i] = signsOf(view, i);
}

/** The characters that `signsOf` examines. */
const SIGNS = new Uint8Array(65536).fill(1, 48, 58);
for (const sign of '(=/"\'`') SIGNS[sign.charCodeAt(0)] = 1;

/** Scans a line once, character by character; seven regular expressions would cost as much as all other features. */
function signsOf({ codes, from, to }: View, i: number): number {
  const start = from[i] ?? 0;
  const end = Math.min(to[i] ?? 0, start + READ_CHARS);
  let signs = 0;
  for (let at = start; at < end; at++) {
    const code = codes[at] ?? 0;
    if (SIGNS[code] === 0) continue;
    const previous = at > start ? (codes[at - 1] ?? 0) : 0;
    if (code === OPENING_BRACKET) {
      if (isLetter(previous) || isDigit(previous)) signs |= CALLS;
      else if (previous === CLOSING_SQUARE) signs |= LINK;
    } else if (code === EQUALS) {
      const next = at + 1 < end ? codes[at + 1] : 0;
      const compares = previous === EQUALS || previous === EXCLAMATION || previous === LESS || previous === GREATER;
      if (!compares && next !== EQUALS && next !== GREATER && (signs & CALLS) === 0) signs |= ASSIGNS;
    } else if (code === QUOTE || code === APOSTROPHE) signs |= QUOTES;
    else if (code === BACKTICK) signs |= TICK;
    else if (code === SLASH) {
      if (previous === COLON) signs |= LINK;
    } else {
      signs |= DIGITS;
      if (previous === DOT && at - 2 >= start && isDigit(codes[at - 2] ?? 0)) signs |= VERSION;
    }
  }
  return signs;
}
