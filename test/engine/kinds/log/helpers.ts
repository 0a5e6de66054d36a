import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { planPrune } from '../../../../src/engine/plan.ts';
import { lineAt, splitLines } from '../../../../src/engine/text/lines.ts';
import type { Hints } from '../../../../src/engine/types.ts';

/** The kind of a text, its lines that stay and those that go. */
export function pruned(text: string, goal: string, hints: Hints = { origin: 'unknown' }) {
  const lines = splitLines(text);
  const plan = planPrune({ text, goal, hints, limits: { maxPruneRatio: 0.9, minKeepLines: 5 } });
  const gone = (line: number): boolean =>
    plan.cuts.some(({ startLine, endLine }) => line >= startLine && line <= endLine);
  const all = Array.from({ length: lines.count }, (_, i) => i + 1);
  return {
    kind: plan.kind,
    kept: all.filter((line) => !gone(line)).map((line) => lineAt(lines, line)),
    cut: all.filter(gone).map((line) => lineAt(lines, line)),
  };
}

/** The rules that keep the lines of a log, by line, if the caller asks for a deep cut; `''` for lines without a rule. */
export function rulesOf(lines: readonly string[], goal: string): string[] {
  const limits = { maxPruneRatio: 0.85, minKeepLines: 10 };
  const { regions } = explainPlan({ text: lines.join('\n'), goal, sourceType: 'logs', asked: true, limits });
  return lines.map((_, i) => regions.find(({ startLine, endLine }) => startLine <= i + 1 && i < endLine)?.rule ?? '');
}
