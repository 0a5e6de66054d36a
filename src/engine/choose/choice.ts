import type { Analysis, Boldness, CutNature, Structure } from '../kinds/kind.ts';
import { sumOf } from '../rank/measures.ts';
import { formatMarker } from '../text/marker.ts';
import { REASONS, type ReasonLanguage } from '../text/reasons.ts';
import { shortList } from '../text/short-list.ts';
import { estimateTokens } from '../text/tokens.ts';
import type { View } from '../text/view.ts';
import type { Hints, Limits, PruneInput } from '../types.ts';
import { type Choice, chooseRuns, type Run } from './runs.ts';

/**
 * Value of a line that another backend scores 1, as a multiple of the saving from cutting it, so that it stays. Set by
 * hand.
 */
const SURE_WORTH = 2;
/** Score of a line on which the other backend has no opinion: halfway between noise and a line that must stay. */
const NO_OPINION = 0.5;

/**
 * Applies another backend's scores to a choice. 1 means that a line must stay, 0 that it is noise; 0.5 and `NaN` are no
 * opinion. Scores in between move the line's own value towards one end or the other. Lines without an opinion keep
 * their value. Protected and glued lines remain so.
 *
 * @param opinions - by line index; with `undefined`, the choice is unchanged
 */
export function withOpinions(opinions: Float64Array | undefined, choice: Choice): Choice {
  if (opinions === undefined) return choice;
  const { size, price, markerSize } = choice;
  const value = choice.value.map((own, i) => {
    const opinion = Math.min(1, Math.max(0, opinions[i] ?? Number.NaN));
    if (Number.isNaN(opinion)) return own;
    if (opinion < NO_OPINION) return (opinion / NO_OPINION) * own;
    // keeping a single line in the middle of a cut costs its size and a second marker
    const worth = Math.max(own, SURE_WORTH * price * ((size[i] ?? 0) + markerSize));
    return own + (opinion / NO_OPINION - 1) * (worth - own);
  });
  return { ...choice, value };
}

/** A sample prune id, used to measure a marker's length. */
export const SAMPLE_ID = 'prn_0123456789ab';

/**
 * From this `max_prune_ratio` on (the contract's default), the ratio is only an upper bound, and relevance decides how
 * much is cut.
 */
const CEILING = 0.9;
/**
 * Value of a definition that the goal names, as a multiple of the saving from cutting it, so that it stays. Set by
 * hand.
 */
const DEFINITION_WORTH = 2;
/** Up to this ratio, only the least valuable lines are cut. Set by hand. */
const MILD = 0.75;

/** Compensates for rounding: `0.9 * 10` is slightly less than 9. */
const ROUNDING = 1e-9;

/**
 * Maximum number of lines that may be cut; negative if the limits cannot be met. If the caller set the limits, each
 * kept line counts once towards `minKeepLines`; otherwise a long line counts as the number of screen lines that it
 * fills.
 */
export function budgetOf(
  view: Pick<View, 'n' | 'lines'>,
  { limits, asked }: Pick<PruneInput, 'limits' | 'asked'>,
): number {
  const { maxPruneRatio, minKeepLines } = limits;
  const stay = asked === true || view.n === 0 ? minKeepLines : linesThatMake(view, minKeepLines);
  return Math.min(Math.floor(maxPruneRatio * view.n + ROUNDING), view.n - stay);
}

/** Longer lines count as several screen lines. Set by hand: the width of a wide terminal. */
const SEEN_LINE_CHARS = 200;

/** Number of lines that fill at least `screenLines` screen lines, even if the shortest lines are chosen. */
function linesThatMake({ n, lines: { starts } }: Pick<View, 'n' | 'lines'>, screenLines: number): number {
  if (n * SEEN_LINE_CHARS >= (starts[n] ?? 0) && n >= screenLines) return screenLines;
  const seen = Uint32Array.from({ length: n }, (_, i) =>
    Math.ceil(((starts[i + 1] ?? 0) - (starts[i] ?? 0)) / SEEN_LINE_CHARS),
  ).sort();
  let count = 0;
  for (let sum = 0; sum < screenLines; count++) {
    if (count === n) return screenLines;
    sum += seen[count] ?? 0;
  }
  return count;
}

/**
 * Factor per boldness step, measured on 219 recorded conversations: the configured level saves
 * 13.3 % of the bill and cuts 15.7 % of the lines that are needed later; one step milder, 6.5 and 6.9 %; two steps
 * milder, 1.8 and 1.4 %; one step bolder, 18.0 and 23.0 %.
 */
const STEP = 2;

/**
 * The exchange rate between a share of the size and a share of what the goal needs. At 1, a line is cut if its share of
 * what is needed is estimated to be smaller than its share of the size. The rate grows with the ratio, so a larger
 * ratio never saves less. Unless the caller explicitly requested the cut, the rate is limited by the text's origin and
 * the size of a file that was read.
 */
function boldness(limits: Limits, own: Boldness, caution: Caution, size: number): number {
  const { atCeiling, large, mild, deep, readSize = size } = own;
  const { hints, asked, boldness: steps = 0 } = caution;
  const ratio = Math.min(limits.maxPruneRatio, CEILING);
  const bold = STEP ** steps * ((ratio > MILD ? deep : mild) / (1 - ratio));
  if (asked === true) return bold;
  const origin = isManual(hints) ? 'read' : (hints?.origin ?? 'unknown');
  const bySize = origin === 'read' && size < readSize ? size / readSize : 1;
  const ceiling = large !== undefined && size >= large.size ? large.atCeiling : atCeiling[origin];
  return Math.min(bold, STEP ** steps * ceiling * bySize);
}

/** The origin of a text, and the number of steps by which it is cut more boldly. */
type Caution = Pick<PruneInput, 'hints' | 'asked'> & { readonly boldness?: number };

/** Whether a command prints the usage or manual of a program, which agents look things up in as in a file. */
function isManual(hints: Hints | undefined): boolean {
  return /\s--help\b|^\s*(?:man|tldr)\s/.test(hints?.command ?? '');
}

/** Typical characters per token of code and logs. Set by hand. */
const CHARS_PER_TOKEN = 3.3;

/**
 * A line's size: halfway between its estimated tokens and its length in tokens of average size. Tokens alone give short
 * lines too much weight.
 */
function sizeOf(tokens: number, chars: number): number {
  return (tokens + chars / CHARS_PER_TOKEN) / 2;
}

type ChoiceInput = Pick<PruneInput, 'limits' | 'externalScores'> & Caution;

/**
 * Prepares the choice of lines. Lines that carry a document's structure may be cut only at the ceiling ratio, together
 * with the blocks that they open and close, and not if keeping them saves more.
 */
export function choiceFor(analysis: Analysis, input: ChoiceInput): Choice {
  const structure = analysis.kind.keepStructure?.(analysis);
  const kept = structure && choiceWith(analysis, structure, input);
  if (kept && input.limits.maxPruneRatio < CEILING) return kept;
  const free = choiceWith(analysis, { keep: analysis.keep, glued: analysis.units.glued }, input);
  return kept && savedBy(kept) > savedBy(free) ? kept : free;
}

/** Tokens that the best runs of a choice save, after the cost of markers. */
function savedBy(choice: Choice): number {
  let saved = 0;
  for (const { from, to } of chooseRuns(choice)) {
    saved -= choice.markerSize;
    for (let i = from; i <= to; i++) saved += choice.size[i] ?? 0;
  }
  return saved;
}

function choiceWith(analysis: Analysis, { keep, glued }: Structure, input: ChoiceInput): Choice {
  const { view, units, kind, value } = analysis;
  const { limits, hints } = input;
  const { tokens } = view;
  const size = sizesOf(view);
  const total = sumOf(size);
  const price = boldness(limits, kind.boldness, input, total) / Math.max(1, total);
  const marker = `${formatMarker({ pruneId: SAMPLE_ID, startLine: view.n, endLine: view.n, reason: 'hors focus' })}\n`;
  const markerSize = sizeOf(estimateTokens(marker), marker.length);
  const isRead = hints?.origin === 'read';
  const defines = isRead ? kind.definitions?.(analysis) : undefined;
  return withOpinions(input.externalScores, {
    n: view.n,
    value: defines === undefined ? value : withDefinitions(value, defines, size, markerSize, DEFINITION_WORTH * price),
    tokens,
    size,
    keep,
    glued: isRead ? wholeBlocks(units.unit, keep, glued) : glued,
    markerSize,
    price,
    budget: budgetOf(view, input),
  });
}

/** Size of each line, without its line number. */
function sizesOf({ tokens, contentStart, lines: { starts } }: View): Float64Array {
  const size = new Float64Array(tokens.length);
  for (let i = 0; i < size.length; i++) size[i] = sizeOf(tokens[i] ?? 0, (starts[i + 1] ?? 0) - (contentStart[i] ?? 0));
  return size;
}

function withDefinitions(
  own: Float64Array,
  defines: Uint8Array,
  size: Float64Array,
  markerSize: number,
  price: number,
): Float64Array {
  const value = own.slice();
  for (let i = defines.indexOf(1); i >= 0; i = defines.indexOf(1, i + 1)) {
    value[i] = Math.max(value[i] ?? 0, price * ((size[i] ?? 0) + markerSize));
  }
  return value;
}

/** A file that was read may be edited next, so the unprotected part of a block is cut completely or not at all. */
function wholeBlocks(unit: Int32Array, keep: Uint8Array, glued: Uint8Array): Uint8Array {
  const out = glued.slice();
  for (let i = 1; i < out.length; i++) {
    if (unit[i] === unit[i - 1] && keep[i] === 0 && keep[i - 1] === 0) out[i] = 1;
  }
  return out;
}

/**
 * In cuts with fewer tokens, the reason does not name the goal, because the words would cost more than they help. Set
 * by hand.
 */
const NAMED_TOKENS = 400;

/** States briefly what was cut and, for a large off-topic cut, some of the goal's words. */
export function reasonFor(analysis: Analysis, { tokens }: Choice, run: Run, language: ReasonLanguage = 'fr'): string {
  const nature = analysis.kind.natureOf?.(analysis, run) ?? null;
  let size = 0;
  for (let i = run.from; i <= run.to; i++) size += tokens[i] ?? 0;
  const goal = (): string => shortList(analysis.terms.map(({ word }) => word));
  return wordsFor(nature, size < NAMED_TOKENS, goal, language);
}

function wordsFor(nature: CutNature | null, short: boolean, goal: () => string, language: ReasonLanguage): string {
  const words = REASONS[language];
  if (nature?.is === 'passed-tests') return words.passedTests;
  if (nature?.is === 'repeated') return short ? words.repeatedShort : `${words.repeated}: ${nature.like}`;
  const named = short ? '' : goal();
  return named === '' ? words.offFocus : `${words.offFocus}: ${named}`;
}
