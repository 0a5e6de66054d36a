import { sumOf } from '../goal/matching.ts';
import { definitionsOf } from '../kinds/code/definitions.ts';
import { keepFences } from '../kinds/fences.ts';
import type { Family } from '../kinds/recognise.ts';
import type { Analysis } from '../reading.ts';
import { formatMarker } from '../text/marker.ts';
import { estimateTokens } from '../text/tokens.ts';
import type { Limits, Origin, PruneInput } from '../types.ts';
import { withOpinions } from './opinions.ts';
import type { Choice } from './runs.ts';

/** Stands for the id of a prune where a marker's length is counted. */
export const SAMPLE_ID = 'prn_0123456789ab';

/** From this ratio on `max_prune_ratio` is a ceiling, and relevance alone says where to stop. */
const CEILING = 0.9;
/** There it is the origin that says how bold: a file that is read may be worked on, a program's output is looked through. */
const CEILING_BOLDNESS: Readonly<Record<Origin, number>> = {
  read: 0.75,
  command: 2.6,
  search: 1,
  listing: 1,
  unknown: 1.8,
};
/** There a document loses only what is clearly beside the goal: its words are seldom those of the goal. */
const DOCUMENT_BOLDNESS = 0.65;
/** There every hit of a search may be the one that was looked for. */
const HITS_BOLDNESS = 0.95;
/** There a definition of what the goal names is worth this many times what its going would save, so that it stays. */
const DEFINITION_WORTH = 2;
/** Up to this ratio the caller wants a mild cut: fenced blocks stay, and lines go only when they are worth least. */
const MILD = 0.75;

const BOLDNESS = 0.27;
/** Logs repeat themselves: a caller that asks for a deep cut of one gets it. */
const LOG_BOLDNESS = 0.19;
const DEEP_LOG_BOLDNESS = 0.75;

/** The largest number of lines that may go, and whether the limits can be met at all. */
export function budgetOf(lines: number, { maxPruneRatio, minKeepLines }: Limits): number {
  return Math.min(Math.floor(maxPruneRatio * lines + 1e-9), lines - minKeepLines);
}

/**
 * What a share of the size is worth against the same share of what the goal needs. At 1 a line goes when it is thought
 * to hold less of what is needed than its share of the size. Below the ceiling the ratio says how bold the caller is.
 */
function boldness({ maxPruneRatio }: Limits, family: Family, origin: Origin): number {
  if (maxPruneRatio >= CEILING) {
    if (family === 'docs') return DOCUMENT_BOLDNESS;
    if (family === 'search') return HITS_BOLDNESS;
    return family === 'code' ? CEILING_BOLDNESS[origin] : 1;
  }
  const bold = 1 / (1 - maxPruneRatio);
  if (family !== 'log') return BOLDNESS * bold;
  return (maxPruneRatio > MILD ? DEEP_LOG_BOLDNESS : LOG_BOLDNESS) * bold;
}

const CHARS_PER_TOKEN = 3.3;

/** Halfway between estimated tokens and length: neither alone is what a reader pays, and short lines weigh too much in the one. */
function sizeOf(tokens: number, chars: number): number {
  return (tokens + chars / CHARS_PER_TOKEN) / 2;
}

/** Puts together what the lines to cut are chosen from. */
export function choiceFor(analysis: Analysis, input: Pick<PruneInput, 'limits' | 'hints' | 'externalScores'>): Choice {
  const { view, units, ranking } = analysis;
  const { tokens } = view;
  const { starts } = view.lines;
  const size = sizesOf(tokens, starts);
  const all = sumOf(size);
  const price = boldness(input.limits, analysis.kind.family, input.hints?.origin ?? 'unknown') / Math.max(1, all);
  const mild = analysis.kind.family === 'docs' && input.limits.maxPruneRatio <= MILD;
  const keep = mild ? keepFences(analysis, (i) => price * (size[i] ?? 0) - (ranking.value[i] ?? 0)) : analysis.keep;
  const marker = `${formatMarker({ pruneId: SAMPLE_ID, startLine: view.n, endLine: view.n, reason: 'hors focus' })}\n`;
  const markerSize = sizeOf(estimateTokens(marker), marker.length);
  const value =
    analysis.kind.family === 'code' && input.hints?.origin === 'read' && input.limits.maxPruneRatio >= CEILING
      ? withDefinitions(analysis, size, markerSize, DEFINITION_WORTH * price)
      : ranking.value;
  return withOpinions(input.externalScores, {
    n: view.n,
    value,
    tokens,
    size,
    keep,
    glued: input.hints?.origin === 'read' ? wholeBlocks(analysis) : units.glued,
    parting: new Float64Array(view.n),
    markerSize,
    price,
    budget: budgetOf(view.n, input.limits),
  });
}

/** The size of each line. */
function sizesOf(tokens: Float64Array, starts: Uint32Array): Float64Array {
  const size = new Float64Array(tokens.length);
  for (let i = 0; i < size.length; i++) size[i] = sizeOf(tokens[i] ?? 0, (starts[i + 1] ?? 0) - (starts[i] ?? 0));
  return size;
}

function withDefinitions(analysis: Analysis, size: Float64Array, markerSize: number, price: number): Float64Array {
  const defines = definitionsOf(analysis);
  const value = analysis.ranking.value.slice();
  for (let i = defines.indexOf(1); i >= 0; i = defines.indexOf(1, i + 1)) {
    value[i] = Math.max(value[i] ?? 0, price * ((size[i] ?? 0) + markerSize));
  }
  return value;
}

/** A file that is read may be about to be edited: what is open of a block goes whole or not at all. */
function wholeBlocks({ units, keep }: Analysis): Uint8Array {
  const { unit } = units;
  const out = units.glued.slice();
  for (let i = 1; i < out.length; i++) {
    if (unit[i] === unit[i - 1] && keep[i] === 0 && keep[i - 1] === 0) out[i] = 1;
  }
  return out;
}
