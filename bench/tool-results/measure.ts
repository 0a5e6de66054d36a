import { performance } from 'node:perf_hooks';
import { BASELINES } from '@mcp-pruner/lab/baselines.ts';
import { keptBy, SAMPLE_ID } from '@mcp-pruner/lab/score.ts';
import { select } from '@mcp-pruner/lab/select.ts';
import { terms } from '@mcp-pruner/lab/terms.ts';
import { addRecoveryHint, type RecoveryHint } from '../../src/core/decide/decision.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { lineAt, splitLines } from '../../src/engine/text/lines.ts';
import { annotate, renderRanges, renderText } from '../../src/engine/text/render.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Limits, LineRange } from '../../src/engine/types.ts';
import type { ToolResultCase } from './case.ts';

export interface Measured {
  readonly name: string;
  readonly kind: ToolResultCase['kind'];
  /** What the engine took it for. */
  readonly planKind: string;
  readonly lines: number;
  readonly keptLines: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly fragments: number;
  readonly lost: readonly string[];
  /** Fragments that a baseline keeps with as many lines. */
  readonly headTailKept: number;
  readonly bm25Kept: number;
  /** The goal of another case leads to other cuts. */
  readonly followsGoal: boolean;
  /** Every kept line is the original one, and the cut ones come back exactly. */
  readonly verbatim: boolean;
  readonly ms: number;
  readonly pruned: string;
}

/** A case whose text does not hold what it should: the tools differ, or the case is ill-made. */
export class WrongCase extends Error {
  override readonly name = 'WrongCase';
}

/** The proxy looks at nothing shorter. */
const MIN_CHARS = 4000;

/**
 * First lines (0-based) of the places where a fragment stands. A fragment of several lines wants each of its parts in
 * one of as many lines that follow each other.
 */
function placesOf(texts: readonly string[], fragment: string): number[] {
  const parts = fragment.split('\n');
  return texts.flatMap((_, i) => (parts.every((part, k) => texts[i + k]?.includes(part)) ? [i] : []));
}

/** Whether the pruned text with each marker replaced by the lines it stands for is the original again. */
function rebuilds(text: string, pruned: string, annotations: ReturnType<typeof annotate>): boolean {
  const lines = splitLines(text);
  let rebuilt = pruned;
  for (const { marker, startLine, endLine } of annotations) {
    const original = renderRanges(lines, [{ startLine, endLine }], false);
    rebuilt = rebuilt.replace(marker, () => original);
  }
  return rebuilt === text;
}

/**
 * Prunes one text as the proxy would and sees what is left of the fragments.
 *
 * @param otherGoal - what the same text might have been read for instead
 * @throws WrongCase when a fragment is not in the original text, or that is too short
 */
export function measure(
  item: ToolResultCase,
  text: string,
  { limits, way }: { readonly limits: Limits; readonly way: RecoveryHint | null },
  otherGoal: string,
): Measured {
  const lines = splitLines(text);
  const texts = Array.from({ length: lines.count }, (_, i) => lineAt(lines, i + 1));
  for (const fragment of item.fragments) {
    if (placesOf(texts, fragment).length === 0) throw new WrongCase(`does not hold: ${fragment}`);
  }
  if (text.length < MIN_CHARS) throw new WrongCase(`only ${text.length} characters`);
  const began = performance.now();
  // each case asks a question of its text, as a call with `context_focus_question` does: files are cut for it too
  const hints = { ...item.hints, question: true };
  const plan = planPrune({ text, goal: item.goal, hints, limits });
  const ms = performance.now() - began;
  const other = planPrune({ text, goal: otherGoal, hints, limits });
  const place = ({ startLine, endLine }: LineRange): number[] => [startLine, endLine];
  const annotations = annotate(way ? addRecoveryHint(plan.cuts, { way }) : plan.cuts, SAMPLE_ID);
  const pruned = renderText(lines, annotations, { annotateLines: false, includeMarkers: true });
  const kept = keptBy(plan.cuts, lines.count);
  const keptLines = kept.reduce((a, b) => a + b, 0);
  const missing = (flags: Uint8Array): string[] =>
    item.fragments.filter((fragment) => {
      const height = fragment.split('\n').length;
      return !placesOf(texts, fragment).some((at) => flags.subarray(at, at + height).every((flag) => flag === 1));
    });
  const ruler = {
    id: item.name,
    goal: item.goal,
    sourceType: plan.sourceType,
    lines: texts,
    words: texts.map(terms),
    needed: [1],
  };
  const keptByBaseline = (name: string): number => {
    const baseline = BASELINES.find((b) => b.name === name);
    if (baseline === undefined) return 0;
    const flags = select(baseline.scores(ruler), keptLines, baseline.closesGaps, null);
    return item.fragments.length - missing(flags).length;
  };
  return {
    name: item.name,
    kind: item.kind,
    planKind: plan.kind,
    lines: lines.count,
    keptLines,
    tokensBefore: estimateTokens(text),
    tokensAfter: estimateTokens(pruned),
    fragments: item.fragments.length,
    lost: missing(kept),
    headTailKept: keptByBaseline('head+tail'),
    bm25Kept: keptByBaseline('bm25'),
    followsGoal: JSON.stringify(other.cuts.map(place)) !== JSON.stringify(plan.cuts.map(place)),
    verbatim: rebuilds(text, pruned, annotations),
    ms,
    pruned,
  };
}
