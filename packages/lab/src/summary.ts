import type { SourceType } from 'mcp-pruner/engine/types.ts';
import { areaOf, mean, type Outcome, type Point, recallAt } from './score.ts';

/** Outcomes of one case: by system, then one per ratio. */
export interface CaseRow {
  /** File type. */
  readonly group: string;
  readonly family: SourceType;
  readonly systems: ReadonlyMap<string, readonly Outcome[]>;
}

/** Means over a group's cases at one ratio; shares 0..1. */
interface AtRatio {
  readonly ratio: number;
  readonly recall: number;
  /** Share of cases in which all needed lines stayed. */
  readonly allKept: number;
  readonly savedTokens: number;
  readonly savedChars: number;
  readonly structure: number;
}

interface SystemSummary {
  readonly name: string;
  readonly area: number;
  /** Area scaled so that random blocks are 0 and the oracle is 1. */
  readonly skill: number;
  readonly points: readonly AtRatio[];
}

export interface GroupSummary {
  readonly group: string;
  readonly cases: number;
  readonly systems: readonly SystemSummary[];
}

/** A figure with its 95 % interval. */
export interface Interval {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

function outcomesAt(rows: readonly CaseRow[], system: string, at: number): Outcome[] {
  return rows.flatMap((row) => row.systems.get(system)?.[at] ?? []);
}

function pointsOf(rows: readonly CaseRow[], system: string, ratios: readonly number[]): Point[] {
  return ratios.map((_, at) => {
    const outcomes = outcomesAt(rows, system, at);
    return [mean(outcomes.map((o) => o.savedChars)), mean(outcomes.map((o) => o.recall))];
  });
}

function skillOf(area: number, low: number, high: number): number {
  return high > low ? (area - low) / (high - low) : Number.NaN;
}

/** Names of the systems in the rows, in insertion order. */
function systemNames(rows: readonly CaseRow[]): string[] {
  return [...(rows[0]?.systems.keys() ?? [])];
}

/** Means, areas and skill of every system over one group of cases. */
export function summarise(group: string, rows: readonly CaseRow[], ratios: readonly number[]): GroupSummary {
  const area = (system: string): number => areaOf(pointsOf(rows, system, ratios));
  const low = area('random');
  const high = area('oracle');
  const systems = systemNames(rows).map((name): SystemSummary => {
    const points = ratios.map((ratio, at): AtRatio => {
      const outcomes = outcomesAt(rows, name, at);
      return {
        ratio,
        recall: mean(outcomes.map((o) => o.recall)),
        allKept: mean(outcomes.map((o) => (o.recall === 1 ? 1 : 0))),
        savedTokens: mean(outcomes.map((o) => o.savedTokens)),
        savedChars: mean(outcomes.map((o) => o.savedChars)),
        structure: mean(outcomes.flatMap((o) => o.structure ?? [])),
      };
    });
    return { name, area: area(name), skill: skillOf(area(name), low, high), points };
  });
  return { group, cases: rows.length, systems };
}

/** Recall of a system at the savings (in characters) that another system reached, per ratio. */
export function recallAtSavingsOf(summary: GroupSummary, system: string, other: string): number[] {
  const curve =
    summary.systems.find((s) => s.name === system)?.points.map((p): Point => [p.savedChars, p.recall]) ?? [];
  const points = summary.systems.find((s) => s.name === other)?.points ?? [];
  return points.map((p) => recallAt(curve, p.savedChars));
}

/** Seeded xorshift32 generator, for a reproducible bootstrap. */
function chance(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

/** Skill of `system`, and its lead over each of `others`, with intervals from resampled cases. */
export function intervals(
  rows: readonly CaseRow[],
  ratios: readonly number[],
  system: string,
  others: readonly string[],
  rounds = 200,
): { skill: Interval; leads: Map<string, Interval> } {
  const names = [system, ...others];
  const skills = (sample: readonly CaseRow[]): number[] => {
    const low = areaOf(pointsOf(sample, 'random', ratios));
    const high = areaOf(pointsOf(sample, 'oracle', ratios));
    return names.map((name) => skillOf(areaOf(pointsOf(sample, name, ratios)), low, high));
  };
  const pick = chance(rows.length + 7);
  const drawn = Array.from({ length: rounds }, () => skills(rows.map((row) => rows[pick(rows.length)] ?? row)));
  const exact = skills(rows);
  const interval = (value: number, samples: readonly number[]): Interval => {
    const sorted = samples.toSorted((a, b) => a - b);
    const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? value;
    return { value, low: at(0.025), high: at(0.975) };
  };
  const leads = new Map<string, Interval>();
  others.forEach((other, k) => {
    const lead = (s: readonly number[]): number => (s[0] ?? 0) - (s[k + 1] ?? 0);
    leads.set(other, interval(lead(exact), drawn.map(lead)));
  });
  return {
    skill: interval(
      exact[0] ?? Number.NaN,
      drawn.map((s) => s[0] ?? Number.NaN),
    ),
    leads,
  };
}
