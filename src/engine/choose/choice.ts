import type { Analysis, Boldness, Structure } from '../kinds/kind.ts';
import { sumOf } from '../rank/columns.ts';
import { formatMarker } from '../text/marker.ts';
import { estimateTokens } from '../text/tokens.ts';
import type { View } from '../text/view.ts';
import type { Hints, Limits, PruneInput } from '../types.ts';
import { type Choice, chooseRuns } from './runs.ts';

/** A line that another backend is sure of is worth this many times what its going would save, so that it stays. Chosen. */
const SURE_WORTH = 2;
/** Says neither that a line must stay nor that it is noise: halfway. */
const NO_OPINION = 0.5;

/**
 * Lets another backend's opinion of lines take part in a choice: 1 says that a line must stay, 0 that it is noise, 0.5
 * and `NaN` say nothing, and in between the line's own value fades towards the one or the other. Lines without an
 * opinion keep their value, whatever was said of others; what is protected or glued stays so.
 *
 * @param opinions - by line index, or `undefined` for a choice that stays as it is
 */
export function withOpinions(opinions: Float64Array | undefined, choice: Choice): Choice {
  if (opinions === undefined) return choice;
  const { size, price, markerSize } = choice;
  const value = choice.value.map((own, i) => {
    const opinion = Math.min(1, Math.max(0, opinions[i] ?? Number.NaN));
    if (Number.isNaN(opinion)) return own;
    if (opinion < NO_OPINION) return (opinion / NO_OPINION) * own;
    // a line that stays alone in the middle of a cut costs its own size and a second marker
    const worth = Math.max(own, SURE_WORTH * price * ((size[i] ?? 0) + markerSize));
    return own + (opinion / NO_OPINION - 1) * (worth - own);
  });
  return { ...choice, value };
}

/** Stands for the id of a prune where a marker's length is counted. */
export const SAMPLE_ID = 'prn_0123456789ab';

/** From this ratio on (the contract's default) `max_prune_ratio` is a ceiling, and relevance alone says where to stop. */
const CEILING = 0.9;
/** A definition of what the goal names is worth this many times what its going would save, so that it stays. Chosen. */
const DEFINITION_WORTH = 2;
/** Up to this ratio the caller wants a mild cut: lines go only when they are worth least. Chosen. */
const MILD = 0.75;

/** Makes up for `0.9 * 10` being a hair less than 9. */
const ROUNDING = 1e-9;

/**
 * The largest number of lines that may be cut, whichever they are; below 0 where the limits cannot be met. A caller
 * that names the limits counts lines as they stand; in what an agent reads, a long line is as many as a person would
 * see.
 */
export function budgetOf(view: View, { limits, asked }: Pick<PruneInput, 'limits' | 'asked'>): number {
  const { maxPruneRatio, minKeepLines } = limits;
  const stay = asked === true || view.n === 0 ? minKeepLines : linesThatMake(view, minKeepLines);
  return Math.min(Math.floor(maxPruneRatio * view.n + ROUNDING), view.n - stay);
}

/** Characters that a person would call a line. Chosen: a wide window of a terminal. */
const SEEN_LINE_CHARS = 200;

/** How many lines of a text are as many as asked for, or more, as a person sees them: of its shortest ones, so of any. */
function linesThatMake({ n, lines: { starts } }: View, asked: number): number {
  if (n * SEEN_LINE_CHARS >= (starts[n] ?? 0) && n >= asked) return asked;
  const seen = Uint32Array.from({ length: n }, (_, i) =>
    Math.ceil(((starts[i + 1] ?? 0) - (starts[i] ?? 0)) / SEEN_LINE_CHARS),
  ).sort();
  let count = 0;
  for (let sum = 0; sum < asked; count++) {
    if (count === n) return asked;
    sum += seen[count] ?? 0;
  }
  return count;
}

/**
 * What one step of boldness does to the price of a line. Measured by `bench -- learning` on 219 recorded conversations: as
 * configured 13.3 % of the bill is saved and 15.7 % of the lines that are needed later were cut; a step milder everywhere
 * 6.5 and 6.9 %, two steps 1.8 and 1.4 %, a step bolder 18.0 and 23.0 %.
 */
const STEP = 2;

/**
 * What a share of the size is worth against the same share of what the goal needs. At 1 a line goes when it is thought
 * to hold less of what is needed than its share of the size. The ratio says how bold the caller is, up to the ceiling; how
 * the text came, and how large a file is that was read, say how bold one may be, whatever the ratio, unless the caller
 * asked for this very text to be cut. So a larger ratio never saves less.
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

type Caution = Pick<PruneInput, 'hints' | 'asked' | 'boldness'>;

/** Whether a program prints how it is used: that is looked things up in, like a file. */
function isManual(hints: Hints | undefined): boolean {
  return /\s--help\b|^\s*(?:man|tldr)\s/.test(hints?.command ?? '');
}

/** About what a token of code or of a log has. Chosen. */
const CHARS_PER_TOKEN = 3.3;

/** Halfway between estimated tokens and length: neither alone is what a reader pays, and short lines weigh too much in the one. */
function sizeOf(tokens: number, chars: number): number {
  return (tokens + chars / CHARS_PER_TOKEN) / 2;
}

type ChoiceInput = Pick<PruneInput, 'limits' | 'hints' | 'asked' | 'boldness' | 'externalScores'>;

/**
 * Puts together what the lines to cut are chosen from. Lines that carry the structure of a document go only at the
 * ceiling, with the blocks that they open and close, and only where more is saved so than without them.
 */
export function choiceFor(analysis: Analysis, input: ChoiceInput): Choice {
  const structure = analysis.kind.keepStructure?.(analysis);
  const kept = structure && choiceWith(analysis, structure, input);
  if (kept && input.limits.maxPruneRatio < CEILING) return kept;
  const free = choiceWith(analysis, { keep: analysis.keep, glued: analysis.units.glued }, input);
  return kept && savedBy(kept) > savedBy(free) ? kept : free;
}

/** What the best runs of a choice save, markers counted. */
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

/** The size of each line, without a number in front of it. */
function sizesOf({ tokens, judged, lines: { starts } }: View): Float64Array {
  const size = new Float64Array(tokens.length);
  for (let i = 0; i < size.length; i++) size[i] = sizeOf(tokens[i] ?? 0, (starts[i + 1] ?? 0) - (judged[i] ?? 0));
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

/** A file that is read may be about to be edited: what is open of a block is cut whole or not at all. */
function wholeBlocks(unit: Int32Array, keep: Uint8Array, glued: Uint8Array): Uint8Array {
  const out = glued.slice();
  for (let i = 1; i < out.length; i++) {
    if (unit[i] === unit[i - 1] && keep[i] === 0 && keep[i - 1] === 0) out[i] = 1;
  }
  return out;
}
