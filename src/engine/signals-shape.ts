import { columnOf } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import type { Templates } from './templates.ts';
import { DECLARED, type Units } from './units.ts';
import { contentOf, isBlankLine, type View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

const COMMENT = /^\s*(?:#(?!\s*(?:include|define|if|endif|else|ifdef))|\/\/|\/\*|\*|"""|'''|--|<!--)/;
const CLOSER = /^[\s)\]};,]*$|^\s*end$/;
const HEADING = /^#{1,6}\s|^[=~^-]{4,}$/;
const LIST = /^\s*(?:[-*+]|\d+\.)\s/;
const OPENS_COMMENT = 1;
const OPENS_CLOSER = 2;
const OPENS_HEADING = 4;
const OPENS_LIST = 8;
/** Which rules a line may fit, by its first character. */
const OPENINGS = new Uint8Array(128);
const mayOpen = (rule: number, characters: string): void => {
  for (let k = 0; k < characters.length; k++) {
    const code = characters.charCodeAt(k);
    OPENINGS[code] = (OPENINGS[code] ?? 0) | rule;
  }
};
mayOpen(OPENS_COMMENT, '#/*"\'-<');
mayOpen(OPENS_CLOSER, ')]};,e');
mayOpen(OPENS_HEADING, '#=~^-');
mayOpen(OPENS_LIST, '-*+0123456789');
const RARE = 8;
const EDGE = 20;
const READ_CHARS = 200;
/** Logarithms of small whole numbers: nearly all that are asked for. */
const LOGS = Float64Array.from({ length: 1024 }, (_, k) => Math.log1p(k));
const logOf = (whole: number): number => (whole < LOGS.length ? (LOGS[whole] ?? 0) : Math.log1p(whole));
/** How much a line belongs to an edge of the text, by its distance. */
const FADING = Float64Array.from({ length: 400 }, (_, k) => Math.exp(-k / EDGE));

/** Measures what a line is in itself, whatever the goal. */
export function measureShapes(
  view: View,
  units: Units,
  templates: Templates,
  words: Vocabulary,
  take: TakeSignal,
): void {
  const n = view.n;
  const flags = { blank: new Uint8Array(n), comment: new Uint8Array(n), closer: new Uint8Array(n) };
  const signs = newSigns(n);
  const declares = new Uint8Array(n);
  const imports = new Uint8Array(n);
  const heading = new Uint8Array(n);
  const list = new Uint8Array(n);
  const depth = new Float64Array(n);
  const length = new Float64Array(n);
  const position = new Float64Array(n);
  const top = new Float64Array(n);
  const end = new Float64Array(n);
  const seen = new Float64Array(n);
  const spoken = new Float64Array(n);
  let start = 0;
  for (let i = 0; i < n; i++) {
    if (i > 0 && units.unit[i] !== units.unit[i - 1]) start = i;
    depth[i] = logOf(i - start) / 6;
    length[i] = logOf((view.to[i] ?? 0) - (view.ink[i] ?? 0)) / 6;
    position[i] = i / n;
    if (i < FADING.length) top[i] = FADING[i] ?? 0;
    if (n - 1 - i < FADING.length) end[i] = FADING[n - 1 - i] ?? 0;
    seen[i] = logOf((templates.count[templates.shape[i] ?? 0] ?? 1) - 1) / 6;
    spoken[i] = logOf((words.first[i + 1] ?? 0) - (words.first[i] ?? 0)) / 4;
    if (isBlankLine(view, i)) {
      flags.blank[i] = 1;
      continue;
    }
    // most lines begin with a letter, and no rule needs to look at them
    const opening = OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
    const line = opening === 0 ? '' : contentOf(view, i, READ_CHARS);
    if ((opening & OPENS_COMMENT) !== 0 && COMMENT.test(line)) flags.comment[i] = 1;
    else if ((opening & OPENS_CLOSER) !== 0 && CLOSER.test(line)) flags.closer[i] = 1;
    const declared = units.declared[i] ?? 0;
    if (declared === DECLARED.import) imports[i] = 1;
    else if (declared !== DECLARED.none) declares[i] = 1;
    if ((opening & OPENS_HEADING) !== 0 && HEADING.test(line)) heading[i] = 1;
    if ((opening & OPENS_LIST) !== 0 && LIST.test(line)) list[i] = 1;
    readSigns(view, i, signs);
  }
  take('blank', flags.blank);
  take('comment', flags.comment);
  take('closer', flags.closer);
  take('declares', declares);
  take('imports', imports);
  take('heading', heading);
  take('list', list);
  take('length', length);
  take('depthInUnit', depth);
  take('position', position);
  take('top', top);
  take('end', end);
  take('seen', seen);
  take('words', spoken);
  for (const [name, flagged] of Object.entries(signs)) take(name, flagged);
  take('rarity', rarity(view, words));
}

/** Mean rarity of a line's words within the text. */
function rarity(view: View, words: Vocabulary): Float64Array {
  const rare = new Float64Array(words.size);
  for (let id = 0; id < words.size; id++) rare[id] = Math.log(1 + view.n / ((words.lineCount[id] ?? 0) + 0.5)) / RARE;
  return columnOf(view.n, (i) => {
    const from = words.first[i] ?? 0;
    const to = words.first[i + 1] ?? 0;
    let sum = 0;
    for (let k = from; k < to; k++) sum += rare[words.ids[k] ?? 0] ?? 0;
    return to > from ? sum / (to - from) : 0;
  });
}

/** Flags of what stands in a line, by the names of their measures. */
type Signs = Readonly<Record<'calls' | 'assigns' | 'quotes' | 'digits' | 'version' | 'link' | 'tick', Uint8Array>>;

function newSigns(n: number): Signs {
  const flags = (): Uint8Array => new Uint8Array(n);
  return {
    calls: flags(),
    assigns: flags(),
    quotes: flags(),
    digits: flags(),
    version: flags(),
    link: flags(),
    tick: flags(),
  };
}

const isDigit = (code: number): boolean => code >= 48 && code <= 57;
const isLetter = (code: number): boolean => (code | 32) >= 97 && (code | 32) <= 122;

/** The characters that `readSigns` looks at. */
const SIGNS = new Uint8Array(65536).fill(1, 48, 58);
for (const sign of '(=/"\'`') SIGNS[sign.charCodeAt(0)] = 1;

/** Reads a line once, sign by sign (seven regular expressions would cost as much as the rest of the measures). */
function readSigns({ codes, from, to }: View, i: number, signs: Signs): void {
  const start = from[i] ?? 0;
  const end = Math.min(to[i] ?? 0, start + READ_CHARS);
  for (let at = start; at < end; at++) {
    const code = codes[at] ?? 0;
    if (SIGNS[code] === 0) continue;
    const previous = at > start ? (codes[at - 1] ?? 0) : 0;
    if (code === 40) {
      if (isLetter(previous) || isDigit(previous)) signs.calls[i] = 1;
      else if (previous === 93) signs.link[i] = 1;
    } else if (code === 61) {
      const next = at + 1 < end ? codes[at + 1] : 0;
      const compares = previous === 61 || previous === 33 || previous === 60 || previous === 62;
      if (!compares && next !== 61 && next !== 62 && signs.calls[i] === 0) signs.assigns[i] = 1;
    } else if (code === 34 || code === 39) signs.quotes[i] = 1;
    else if (code === 96) signs.tick[i] = 1;
    else if (code === 47) {
      if (previous === 58) signs.link[i] = 1;
    } else {
      signs.digits[i] = 1;
      if (previous === 46 && at - 2 >= start && isDigit(codes[at - 2] ?? 0)) signs.version[i] = 1;
    }
  }
}
