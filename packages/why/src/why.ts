import { decisionOf, type Job, WHOLE_CUTS } from 'mcp-pruner/core/decide/decision.ts';
import type { Decision, DecisionBasis } from 'mcp-pruner/core/ports.ts';
import type { Rule } from 'mcp-pruner/engine/kinds/kind.ts';
import type { LineRange } from 'mcp-pruner/engine/types.ts';
import { type Because, type Explanation, explainPlan, type Region } from './explain.ts';

/**
 * How far a stored decision can be explained. `ranked`: this engine reproduces the cuts from the stored inputs, so its
 * rules and scores are the reasons. `opinions`: a backend's scores influenced it and were not stored. `other_engine`:
 * this engine would cut differently. `unrecorded`: its inputs were not stored. With these three, only the cuts, their
 * reasons and the rules are reported. `asked`: a stash or delete directive replaced the whole text; nothing was ranked.
 * `whole`: the text was left whole before anything was ranked.
 */
export type Certainty = 'ranked' | 'opinions' | 'other_engine' | 'unrecorded' | 'asked' | 'whole';

/** Consecutive lines that were all kept or all cut, for the same reason. */
export interface WhyRegion extends LineRange {
  readonly kept: boolean;
  /** `unknown` if it depends on scores that were not stored. */
  readonly because: Because | 'asked' | 'unknown';
  readonly rule: Rule;
  /** The reason in the marker; `''` for kept lines. */
  readonly reason: string;
  /** Only with `ranked`. */
  readonly score: Pick<Region, 'worth' | 'tokens' | 'terms' | 'measures'> | null;
}

export interface Why {
  readonly certainty: Certainty;
  /** Goal terms that occur in the text, heaviest first; only with `ranked`. */
  readonly terms: readonly string[];
  /** Regions with a worth below this are cut; only with `ranked`. */
  readonly threshold: number | null;
  /** Maximum number of lines that may be cut under the limits; `null` if unknown. */
  readonly budget: number | null;
  /** With `other_engine`: the cuts that this engine would make. */
  readonly cutsToday: readonly LineRange[];
  readonly regions: readonly WhyRegion[];
}

/** Explains a stored decision, never the decision that would be made today. */
export function explainDecision(decision: Decision, text: string): Why {
  const { basis, kind, whole } = decision;
  if (WHOLE_CUTS.has(kind)) return withoutRanking(decision, 'asked');
  if (whole !== '' && (basis === undefined || decision.warnings.length > 0)) return withoutRanking(decision, 'whole');
  const today = explainPlan(inputOf(decision, text, basis));
  if (basis === undefined) return byRules(decision, 'unrecorded', today);
  if (basis.opinions) return byRules(decision, 'opinions', today);
  const { cuts } = decisionOf(jobOf(decision, text, basis), decision.key, today.plan);
  if (!sameRanges(cuts, decision.cuts)) {
    return { ...byRules(decision, 'other_engine', today), cutsToday: cuts };
  }
  return ranked(decision, today);
}

function inputOf({ goal, sourceType }: Decision, text: string, basis: DecisionBasis | undefined) {
  if (basis === undefined) return { text, goal, sourceType, limits: { maxPruneRatio: 1, minKeepLines: 0 } };
  return { text, goal, ...basis };
}

function jobOf({ goal, textHash, tool }: Decision, text: string, { hints, limits }: DecisionBasis): Job {
  return { text, textHash, goal, hints, limits, tool, caller: 'proxy' };
}

function sameRanges(a: readonly LineRange[], b: readonly LineRange[]): boolean {
  return (
    a.length === b.length && a.every((cut, i) => cut.startLine === b[i]?.startLine && cut.endLine === b[i].endLine)
  );
}

function ranked({ cuts }: Decision, { terms, threshold, budget, regions }: Explanation): Why {
  const reasons = new Map(cuts.map(({ startLine, reason }) => [startLine, reason]));
  // the planned cuts did not save enough, so the text stayed whole
  const whole = cuts.length === 0;
  return {
    certainty: 'ranked',
    terms,
    threshold,
    budget,
    cutsToday: [],
    regions: regions.map(({ startLine, endLine, kept, because, rule, worth, tokens, terms: own, measures }) => ({
      startLine,
      endLine,
      kept: kept || whole,
      because: !kept && whole ? 'whole' : because,
      rule,
      reason: whole ? '' : (reasons.get(startLine) ?? ''),
      score: { worth, tokens, terms: own, measures },
    })),
  };
}

/** The explanation without ranking: the stored cuts, and the rules that protect lines. */
function byRules(decision: Decision, certainty: Certainty, { regions, budget }: Explanation): Why {
  const rules = regions.filter(({ because }) => because === 'rule');
  const out: WhyRegion[] = [];
  for (const cut of [...decision.cuts, null]) {
    const from = (out.at(-1)?.endLine ?? 0) + 1;
    out.push(...keptBetween(from, (cut?.startLine ?? decision.lines + 1) - 1, rules));
    if (cut) out.push({ ...cut, kept: false, because: 'unknown', rule: '', score: null });
  }
  return { ...EMPTY, certainty, budget: certainty === 'unrecorded' ? null : budget, regions: out };
}

function keptBetween(first: number, last: number, rules: readonly Region[]): WhyRegion[] {
  const out: WhyRegion[] = [];
  const add = (startLine: number, endLine: number, rule: Rule): void => {
    const because = rule === '' ? 'unknown' : 'rule';
    if (startLine <= endLine) out.push({ startLine, endLine, kept: true, because, rule, reason: '', score: null });
  };
  let next = first;
  for (const { startLine, endLine, rule } of rules) {
    if (endLine < next || startLine > last) continue;
    add(next, startLine - 1, '');
    add(Math.max(next, startLine), Math.min(last, endLine), rule);
    next = endLine + 1;
  }
  add(next, last, '');
  return out;
}

const EMPTY: Omit<Why, 'certainty' | 'regions'> = { terms: [], threshold: null, budget: null, cutsToday: [] };

function withoutRanking({ cuts, lines }: Decision, certainty: 'asked' | 'whole'): Why {
  const all = { startLine: 1, endLine: lines, rule: '', score: null } as const;
  if (lines === 0) return { ...EMPTY, certainty, regions: [] };
  if (cuts.length === 0)
    return { ...EMPTY, certainty, regions: [{ ...all, kept: true, because: 'whole', reason: '' }] };
  const regions = cuts.map((cut): WhyRegion => ({ ...all, ...cut, kept: false, because: 'asked' }));
  return { ...EMPTY, certainty, regions };
}
