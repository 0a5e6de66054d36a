import { countOf, unionOf } from '../goal/matching.ts';
import { type Reading, RULES } from '../kinds/kind.ts';
import { cellLines } from './cells.ts';
import { extremes, ordered } from './extremes.ts';
import { linesOf, literalsOf } from './literals.ts';
import { seriesOf } from './series.ts';
import { asNumbers, numberQuestion, orderQuestion } from './superlatives.ts';
import { lineClocks, linesWithin, spansOf } from './times.ts';

/** Maximum share of a text that stays because the goal spells it out. Set by hand, like all below. */
const MOST_OF_TEXT = 0.25;
/** This many lines stay even if they are a larger share of the text. */
const FEW_LINES = 4;
/** Maximum share of lines for an identifier to be rare; one line is always allowed. */
const RARE_SHARE = 0.01;
/** Maximum share of lines kept for their identifiers. */
const NAMED_SHARE = 0.02;

/**
 * Keeps the lines that hold what the goal spells out, wherever they stand in the text: a literal (an id, path, number,
 * quotation, error code), a time or a span of time, the extremes of numbers, and a rare identifier. All of them together
 * are at most a quarter of the text, the rarest first. It precedes every rule that ranks lines by their place.
 */
export function keepAsked(reading: Reading, goal: string, keep: Uint8Array): void {
  if (goal === '' || reading.view.n === 0) return;
  const room = new GoalQuota(reading, keep);
  for (const lines of literalLines(reading, goal)) room.fill(lines);
  if (reading.kind.hasHits) for (const lines of exactLines(reading)) room.fill(lines);
  if (reading.kind.hasCells) room.fill(cellLines(reading.view, goal));
  const spans = spansOf(goal);
  const order = orderQuestion(goal);
  const clocks = spans.length > 0 || order !== null ? lineClocks(reading.view) : null;
  if (clocks !== null) for (const span of spans) room.fill(linesWithin(clocks, span));
  const numbers = numberQuestion(goal);
  if (numbers !== null || order !== null) {
    const series = seriesOf(reading.view, 0, reading.view.n);
    if (numbers !== null) for (const lines of extremes(series, numbers, reading.terms)) room.fill(lines);
    if (order !== null && clocks !== null) {
      for (const lines of ordered(reading.view, clocks.clocks, order)) room.fill(lines);
      const ages = series.filter(({ measure }) => measure === 'time');
      for (const lines of extremes(ages, asNumbers(order), reading.terms)) room.fill(lines);
    }
  }
  room.fill(identifierLines(reading), Math.max(FEW_LINES, Math.floor(reading.view.n * NAMED_SHARE)));
}

/** Maximum number of words that are looked for as they are spelled, heaviest first, and of hits with such a word. */
const MOST_EXACT = 30;
const FEW_EXACT = 2;
/** Minimum length of such a word. */
const LEAST_EXACT = 4;

/** The hits of a search with a word of the goal as it is spelled: `expect`, where all others say `expected`. */
function exactLines({ view, terms }: Reading): number[][] {
  return terms
    .filter(({ word, whole, isPart }) => whole && !isPart && word.length >= LEAST_EXACT)
    .slice(0, MOST_EXACT)
    .map(({ word }) => linesOf(view, { text: word, noun: '', isNumber: false, isHash: false }, FEW_EXACT));
}

/** Marks lines until a quarter of the text is kept for the goal. */
class GoalQuota {
  readonly #reading: Reading;
  readonly #keep: Uint8Array;
  #tokens: number;
  #lines = 0;

  constructor(reading: Reading, keep: Uint8Array) {
    this.#reading = reading;
    this.#keep = keep;
    let all = 0;
    for (const tokens of reading.view.tokens) all += tokens;
    this.#tokens = all * MOST_OF_TEXT;
  }

  /** Keeps lines in this order, at most `most`; lines that stay anyway do not count. */
  fill(lines: readonly number[], most = Number.POSITIVE_INFINITY): void {
    let left = most;
    for (const i of lines) {
      if (left <= 0) return;
      if (this.#keep[i] !== 0) continue;
      const tokens = this.#reading.view.tokens[i] ?? 0;
      if (tokens > this.#tokens && this.#lines >= FEW_LINES) return;
      this.#keep[i] = NAMED;
      this.#tokens -= tokens;
      this.#lines++;
      left--;
    }
  }
}

const NAMED = RULES.indexOf('named');

/** The lines of each literal that is rare in the text, the rarest literal first. */
function literalLines({ view, kind }: Reading, goal: string): number[][] {
  const few = Math.max(FEW_LINES, view.n * NAMED_SHARE);
  const most = Math.max(FEW_LINES, view.n * MOST_OF_TEXT);
  return literalsOf(goal)
    .map((literal) => linesOf(view, literal, kind.mentionsNames === true && !/\d|\s/.test(literal.text) ? few : most))
    .sort((a, b) => a.length - b.length);
}

/** The lines with an identifier that is very rare in the text. */
function identifierLines({ view, terms, words, match }: Reading): number[] {
  const rare = new Set<number>();
  const few = Math.max(1, view.n * RARE_SHARE);
  for (const { hash, literal } of terms) {
    const id = literal ? words.find(hash) : -1;
    if (id >= 0 && (words.lineCount[id] ?? 0) <= few) rare.add(id);
  }
  const compounds = [...match.compounds.values()].filter((lines) => countOf(lines) <= few);
  if (rare.size === 0 && compounds.length === 0) return [];
  const named = compounds.length === 0 ? new Uint8Array(view.n) : unionOf(compounds);
  for (let i = 0; i < view.n && rare.size > 0; i++) {
    const end = match.first[i + 1] ?? 0;
    for (let h = match.first[i] ?? 0; h < end; h++) if (rare.has(words.ids[match.hits[h] ?? 0] ?? -1)) named[i] = 1;
  }
  return [...named.keys()].filter((i) => named[i] === 1);
}
