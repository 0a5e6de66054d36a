import { lineAt, splitLines } from 'mcp-pruner/engine/text/lines.ts';
import type { LineRange, Origin, Plan, PruneInput } from 'mcp-pruner/engine/types.ts';
import { BASELINES, type BaselineInput } from './baselines.ts';
import type { EvalCase } from './cases.ts';
import { budgetFor, keptBy, type Outcome, outcomeOf } from './score.ts';
import { select } from './select.ts';
import { structuralLines } from './structure.ts';
import type { CaseRow } from './summary.ts';
import { terms } from './terms.ts';

/** Name of the system under test in the rows. */
export const PRUNER = 'mcp-pruner';

export interface EvaluateOptions {
  /** Ascending values of `max_prune_ratio`. */
  readonly ratios: readonly number[];
  readonly minKeepLines: number;
  readonly origin: Origin;
  readonly plan: (input: PruneInput) => Plan;
  /** Whether all markers but the first are short, for baselines too. Default: full markers, as in `prune_text`. */
  readonly shortMarkers?: boolean;
  /** Skips the baselines between `random` and `oracle`. */
  readonly quick?: boolean;
}

/** Totals of a run. */
export interface EvaluationTotals {
  /** Outcomes at each ratio's budget. */
  readonly rows: CaseRow[];
  /** Outcomes with the same number of lines as kept by the pruner. */
  readonly matched: CaseRow[];
  bytes: number;
  /** CPU time for planning, in milliseconds. */
  planMs: number;
  /** Number of plans that exceeded a limit, or with unordered cuts. */
  violations: number;
}

export function newTotals(): EvaluationTotals {
  return { rows: [], matched: [], bytes: 0, planMs: 0, violations: 0 };
}

/** Whether a plan's cuts are ordered, disjoint, inside the text and within the limits. */
export function keepsBounds(plan: Plan, lineCount: number, ratio: number, minKeep: number): boolean {
  let last = 0;
  let cut = 0;
  for (const { startLine, endLine } of plan.cuts) {
    if (startLine <= last || endLine < startLine || endLine > lineCount) return false;
    last = endLine + 1;
    cut += endLine - startLine + 1;
  }
  return cut === 0 || (cut <= ratio * lineCount + 1e-6 && lineCount - cut >= Math.min(lineCount, minKeep));
}

/** Runs the pruner and the baselines on one case, and adds the outcomes to the totals. */
export function evaluateCase(item: EvalCase, options: EvaluateOptions, totals: EvaluationTotals): void {
  const { ratios, minKeepLines, shortMarkers: areShort } = options;
  const lines = splitLines(item.text);
  const texts = Array.from({ length: lines.count }, (_, i) => lineAt(lines, i + 1));
  const structural = structuralLines(texts, item.sourceType);
  const systems = new Map<string, Outcome[]>();
  const matched = new Map<string, Outcome[]>();

  const own = ratios.map((ratio) => {
    const input: PruneInput = {
      text: item.text,
      goal: item.goal,
      sourceType: item.sourceType,
      hints: item.path === '' ? { origin: options.origin } : { origin: options.origin, path: item.path },
      limits: { maxPruneRatio: ratio, minKeepLines },
      // texts of unknown origin are cut as by `prune_text`
      asked: options.origin === 'unknown',
    };
    const began = process.cpuUsage(); // CPU time instead of wall-clock time, because other processes may be running
    const plan = options.plan(input);
    const { user, system } = process.cpuUsage(began);
    totals.planMs += (user + system) / 1000;
    totals.bytes += Buffer.byteLength(item.text);
    if (!keepsBounds(plan, lines.count, ratio, minKeepLines)) totals.violations++;
    const reasons = new Map(plan.cuts.map((cut) => [cut.startLine, cut.reason]));
    const kept = keptBy(plan.cuts, lines.count);
    const reasonOf = (cut: LineRange): string => reasons.get(cut.startLine) ?? '';
    return outcomeOf(lines, kept, item.needed, structural, { reasonOf, areShort });
  });
  systems.set(PRUNER, own);

  const ruler: BaselineInput = { ...item, lines: texts, words: texts.map(terms) };
  for (const { name, closesGaps, protect, scores } of BASELINES) {
    if (options.quick && name !== 'random' && name !== 'oracle') continue;
    const ranked = scores(ruler);
    const at = (budget: number): Outcome => {
      const kept = select(ranked, budget, closesGaps, protect ? structural : null);
      return outcomeOf(lines, kept, item.needed, structural, { areShort });
    };
    systems.set(
      name,
      ratios.map((ratio) => at(budgetFor(lines.count, ratio, minKeepLines))),
    );
    matched.set(
      name,
      own.map((outcome) => at(outcome.keptLines)),
    );
  }
  const { group, sourceType: family } = item;
  totals.rows.push({ group, family, systems });
  totals.matched.push({ group, family, systems: new Map([[PRUNER, own], ...matched]) });
}
