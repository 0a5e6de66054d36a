import { planPrune } from '../../src/engine/plan.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { PruneInput } from '../../src/engine/types.ts';
import type { TextCase } from './cases.ts';
import { checkCuts, must } from './check.ts';
import { applyEdits, editsOf, linesOf } from './expected.ts';

const PRUNE_ID = 'prn_0123456789AB';

/** The engine alone: bounds, directives, frames, structure, tokens, the same plan again, and a stop that is obeyed. */
export function checkText(given: TextCase): void {
  const lines = linesOf(given.text);
  const { opinions } = given;
  const input: PruneInput = {
    text: given.text,
    goal: given.goal,
    hints: {
      origin: given.origin,
      ...(given.path && { path: given.path }),
      ...(given.command && { command: given.command }),
      ...(given.frameHead && { frameHead: given.frameHead }),
      ...(given.frameTail && { frameTail: given.frameTail }),
    },
    limits: { maxPruneRatio: given.maxPruneRatio, minKeepLines: given.minKeepLines },
    ...(given.sourceType && { sourceType: given.sourceType }),
    ...(opinions.length > 0 && { externalScores: Float64Array.from(lines, (_, i) => opinionOf(opinions, i)) }),
  };
  const plan = planPrune(input);
  must(plan.lineCount === lines.length, 'line count', () => `${plan.lineCount} instead of ${lines.length}`);
  checkCuts(plan.cuts, lines.length, input.limits);
  must(plan.warnings.length === 0 || plan.cuts.length === 0, 'no cut where something is warned of');
  const unmet = given.minKeepLines > lines.length;
  must(plan.warnings.includes('constraints_unmet') === unmet, 'constraints_unmet', () => String(plan.warnings));
  checkKept(given, lines, plan.cuts, plan.sourceType);
  if (plan.cuts.length > 0) {
    const pruned = applyEdits(
      given.text,
      editsOf({ pruneId: PRUNE_ID, text: given.text, cuts: plan.cuts }, { annotateLines: false, includeMarkers: true }),
    );
    const [before, after] = [estimateTokens(given.text), estimateTokens(pruned)];
    must(after < before, 'never more tokens', () => `${before} became ${after}`);
  }
  const again = planPrune(input);
  must(JSON.stringify(again) === JSON.stringify(plan), 'same plan again');
  if (given.stopAt > 0) checkStop(input, given.stopAt, JSON.stringify(plan));
}

function opinionOf(opinions: readonly number[], line: number): number {
  const opinion = opinions[line % opinions.length] ?? -1;
  return opinion < 0 ? Number.NaN : opinion;
}

/** Work that is stopped leaves no half plan: all of it, or none of it and a warning. */
function checkStop(input: PruneInput, stopAt: number, whole: string): void {
  let asked = 0;
  const plan = planPrune({ ...input, shouldStop: () => ++asked >= stopAt });
  if (asked < stopAt) must(JSON.stringify(plan) === whole, 'same plan when nothing stops it');
  else must(plan.cuts.length === 0, 'no cut by work that was stopped', () => `stopped at ${stopAt}, ${plan.warnings}`);
}

const ALARM = /error|exception|traceback/i;
const HEADING = /^#{1,6}\s/;

/** Lines that the contract keeps (docs/contract.md §5) and those of a client's frame. */
function checkKept(
  { frameHead, frameTail, sourceType }: TextCase,
  lines: readonly string[],
  cuts: readonly { readonly startLine: number; readonly endLine: number }[],
  stated: string,
): void {
  const gone = new Set<number>();
  for (const { startLine, endLine } of cuts) for (let line = startLine; line <= endLine; line++) gone.add(line);
  if (gone.size === 0) return;
  let directed = false;
  let fenced = false;
  for (const [i, raw] of lines.entries()) {
    const text = raw.trim();
    if (text === '⟦NO_PRUNE_BEGIN⟧') directed = true;
    // a fence in the frame is the client's, around all of the text
    const framed = i < frameHead || i >= lines.length - frameTail;
    if (!framed && /^(?:```|~~~)/.test(text)) fenced = !fenced;
    const stays = directed
      ? 'NO_PRUNE'
      : framed
        ? 'frame of the client'
        : sourceType === 'logs' && ALARM.test(raw)
          ? 'error lines of logs'
          : sourceType === 'docs' && stated === 'docs' && !fenced && HEADING.test(raw)
            ? 'headings of docs'
            : '';
    must(
      stays === '' || !gone.has(i + 1),
      `keeps ${stays}`,
      () => `line ${i + 1} went: ${JSON.stringify(raw.slice(0, 90))}`,
    );
    if (text === '⟦NO_PRUNE_END⟧') directed = false;
  }
}
