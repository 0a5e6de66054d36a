import { table, wrap } from 'mcp-pruner/cli/table.ts';
import type { Origin } from 'mcp-pruner/engine/types.ts';
import type { SampleReport } from './cases.ts';
import { type EvaluationTotals, PRUNER } from './evaluate.ts';
import { type CaseRow, type GroupSummary, type Interval, intervals, recallAtSavingsOf, summarise } from './summary.ts';

/** The result of an evaluation. */
export interface EvaluationReport {
  readonly repository: string;
  readonly head: string;
  readonly seed: number;
  readonly origin: Origin;
  readonly minKeepLines: number;
  readonly ratios: readonly number[];
  readonly cases: number;
  readonly commits: { readonly inHistory: number; readonly seen: number; readonly used: number };
  readonly skipped: Readonly<Record<string, number>>;
  readonly skill: Interval;
  /** Skill of the pruner minus that of a baseline. */
  readonly leads: Readonly<Record<string, Interval>>;
  readonly all: GroupSummary;
  /** Code, docs and logs separately. */
  readonly byFamily: readonly GroupSummary[];
  readonly byType: readonly GroupSummary[];
  /** Baselines that keep the same number of lines as the pruner in each case. */
  readonly sameLines: GroupSummary;
  /** Recall of each baseline at the pruner's savings, per ratio. */
  readonly recallAtSameSaving: Readonly<Record<string, readonly number[]>>;
  /** CPU time of planning, in milliseconds per megabyte. */
  readonly msPerMb: number;
  readonly violations: number;
}

/** File types with fewer cases are reported under `other`. */
const MIN_GROUP = 5;
/** Minimum number of cases for a skill figure. Set by hand: with twenty cases, the 95 % interval is about .2 wide. */
const MIN_SKILL_CASES = 20;

const RIVALS = ['head+tail', 'grep', 'bm25', 'reference', 'reference+structure'] as const;

/** Summarises a run with at least one case. */
export function buildReport(
  totals: EvaluationTotals,
  sample: SampleReport,
  run: Pick<EvaluationReport, 'repository' | 'head' | 'seed' | 'origin' | 'minKeepLines' | 'ratios'>,
): EvaluationReport {
  const { rows, matched } = totals;
  const { repository, head, seed, origin, minKeepLines, ratios } = run;
  const sizes = new Map<string, number>();
  for (const row of rows) sizes.set(row.group, (sizes.get(row.group) ?? 0) + 1);
  const groupOf = (group: string): string => ((sizes.get(group) ?? 0) < MIN_GROUP ? 'other' : group);
  const groupsBy = (nameOf: (row: CaseRow) => string): GroupSummary[] =>
    [...new Set(rows.map(nameOf))]
      .map((name) => {
        const own = rows.filter((row) => nameOf(row) === name);
        return summarise(name, own, ratios);
      })
      .sort((a, b) => b.cases - a.cases);
  const all = summarise('all', rows, ratios);
  const { skill, leads } = intervals(rows, ratios, PRUNER, ['bm25', 'reference']);
  return {
    repository,
    head,
    seed,
    origin,
    minKeepLines,
    ratios,
    cases: rows.length,
    commits: { inHistory: sample.commits, seen: sample.commitsSeen, used: sample.commitsUsed },
    skipped: Object.fromEntries([...sample.skipped].sort((a, b) => b[1] - a[1])),
    skill,
    leads: Object.fromEntries(leads),
    all,
    byFamily: groupsBy(({ family }) => family),
    byType: groupsBy(({ group }) => groupOf(group)),
    sameLines: summarise('same lines', matched, ratios),
    recallAtSameSaving: Object.fromEntries(RIVALS.map((name) => [name, recallAtSavingsOf(all, name, PRUNER)])),
    msPerMb: totals.bytes === 0 ? 0 : (totals.planMs / totals.bytes) * 1e6,
    violations: totals.violations,
  };
}

function percent(value: number): string {
  return Number.isNaN(value) ? '-' : (value * 100).toFixed(1);
}

function decimal(value: number): string {
  return Number.isNaN(value) ? '-' : value.toFixed(3);
}

function interval({ value, low, high }: Interval): string {
  return `${decimal(value)} [${decimal(low)}, ${decimal(high)}]`;
}

function skillOf({ cases }: Pick<GroupSummary, 'cases'>, skill: number): string {
  return cases < MIN_SKILL_CASES ? '-' : decimal(skill);
}

function systemsTable(summary: GroupSummary, width: number | undefined): string {
  const ratios = summary.systems[0]?.points.map((p) => p.ratio) ?? [];
  const rows = summary.systems.map(({ name, skill, area, points }) => [
    name,
    skillOf(summary, skill),
    decimal(area),
    ...points.flatMap((p) => [percent(p.recall), percent(p.allKept), percent(p.savedTokens), percent(p.structure)]),
  ]);
  const head = [
    ['max_prune_ratio', '', '', ...ratios.flatMap((r) => Array.from({ length: 4 }, () => String(r)))],
    ['', 'skill', 'area', ...ratios.flatMap(() => ['recall', 'all', 'saved', 'struct'])],
  ];
  return table([...head, ...rows], { width });
}

function typesTable(report: EvaluationReport, width: number | undefined): string {
  const head = [
    'type',
    'cases',
    'skill',
    'bm25',
    'reference',
    ...report.ratios.flatMap((r) => [`r=${r} recall`, `r=${r} saved`]),
  ];
  const rows = [...report.byFamily, ...report.byType].map((group) => {
    const system = (name: string) => group.systems.find((s) => s.name === name);
    const own = system(PRUNER);
    const skills = [PRUNER, 'bm25', 'reference'].map((name) => skillOf(group, system(name)?.skill ?? Number.NaN));
    const points = own?.points.flatMap((p) => [percent(p.recall), percent(p.savedTokens)]) ?? [];
    return [group.group, String(group.cases), ...skills, ...points];
  });
  return table([head, ...rows], { width });
}

function sameBudgetTable(report: EvaluationReport, width: number | undefined): string {
  const { ratios, sameLines, recallAtSameSaving } = report;
  const head = ['recall of', ...ratios.map((r) => `r=${r} lines`), ...ratios.map((r) => `r=${r} saving`)];
  const rows = sameLines.systems.map(({ name, points }) => {
    const own = report.all.systems.find((s) => s.name === name)?.points.map((p) => p.recall);
    const atSaving = name === PRUNER ? own : recallAtSameSaving[name];
    return [
      name,
      ...points.map((p) => percent(p.recall)),
      ...ratios.map((_, i) => percent(atSaving?.[i] ?? Number.NaN)),
    ];
  });
  return table([head, ...rows], { width });
}

function skillLine(report: EvaluationReport): string {
  if (report.cases < MIN_SKILL_CASES) return `too few cases to measure skill: at least ${MIN_SKILL_CASES} are needed`;
  const { skill, leads } = report;
  return (
    `skill of ${PRUNER} ${interval(skill)} (95 %); ahead of bm25 by ${interval(leads.bm25 ?? skill)}, ` +
    `of the reference heuristics by ${interval(leads.reference ?? skill)}`
  );
}

/**
 * Formats the report as plain text, with shares in percent.
 *
 * @param width - terminal width in characters; without it, nothing is wrapped or split
 */
export function renderReport(report: EvaluationReport, width?: number): string {
  const { commits } = report;
  const skipped = Object.entries(report.skipped).map(([reason, count]) => `${reason} ${count}`);
  const prose = (text: string): string => wrap(text, width);
  return `${[
    prose(
      `${report.cases} cases from ${commits.used} commits of ${report.repository} (${report.head.slice(0, 12)}, ` +
        `${commits.inHistory} commits without merges, ${commits.seen} examined, seed ${report.seed})`,
    ),
    prose(`skipped: ${skipped.join(', ') || 'nothing'}`),
    '',
    prose(skillLine(report)),
    '',
    prose(
      'In %: recall of the needed lines, cases with all of them kept, tokens saved (markers paid for), structural lines kept',
    ),
    systemsTable(report.all, width),
    '',
    prose(`The same budget as ${PRUNER}: recall with as many lines kept, and on each curve at the same saving:`),
    sameBudgetTable(report, width),
    '',
    'By family and by file type:',
    typesTable(report, width),
    '',
    `time ${report.msPerMb.toFixed(1)} ms of CPU per MB; broken bounds ${report.violations}`,
  ].join('\n')}\n`;
}
