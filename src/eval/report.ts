import type { Origin } from '../engine/types.ts';
import type { SampleReport } from './cases.ts';
import { type EvaluationTotals, PRUNER } from './evaluate.ts';
import { type GroupSummary, type Interval, intervals, recallAtSavingsOf, summarise } from './summary.ts';

/** What was measured, and on what. */
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
  /** Code apart from docs and logs. */
  readonly byFamily: readonly GroupSummary[];
  readonly byType: readonly GroupSummary[];
  /** The baselines with the very number of lines that the pruner kept in each case. */
  readonly sameLines: GroupSummary;
  /** Recall of each baseline's curve at the pruner's savings, ratio by ratio. */
  readonly recallAtSameSaving: Readonly<Record<string, readonly number[]>>;
  /** CPU time of planning. */
  readonly msPerMb: number;
  readonly violations: number;
}

/** A file type with fewer cases than this is told under `other`. */
const MIN_GROUP = 5;

const RIVALS = ['head+tail', 'grep', 'bm25', 'reference', 'reference+structure'] as const;

/** Adds up a run. There must be at least one case. */
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
  const groups = [...new Set(rows.map((row) => groupOf(row.group)))];
  const byType = groups
    .map((group) =>
      summarise(
        group,
        rows.filter((row) => groupOf(row.group) === group),
        ratios,
      ),
    )
    .sort((a, b) => b.cases - a.cases);
  const byFamily = [...new Set(rows.map((row) => row.family))]
    .map((family) =>
      summarise(
        family,
        rows.filter((row) => row.family === family),
        ratios,
      ),
    )
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
    byFamily,
    byType,
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

/** Rows of cells as aligned columns, the first to the left and the others to the right. */
export function table(rows: readonly (readonly string[])[]): string {
  const columns = Math.max(0, ...rows.map((row) => row.length));
  const widths = Array.from({ length: columns }, (_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join('  ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}

function interval({ value, low, high }: Interval): string {
  return `${decimal(value)} [${decimal(low)}, ${decimal(high)}]`;
}

function systemsTable(summary: GroupSummary): string {
  const ratios = summary.systems[0]?.points.map((p) => p.ratio) ?? [];
  const rows = summary.systems.map(({ name, skill, area, points }) => [
    name,
    decimal(skill),
    decimal(area),
    ...points.flatMap((p) => [percent(p.recall), percent(p.allKept), percent(p.savedTokens), percent(p.structure)]),
  ]);
  return table([
    ['max_prune_ratio', '', '', ...ratios.flatMap((r) => [String(r), '', '', ''])],
    ['', 'skill', 'area', ...ratios.flatMap(() => ['recall', 'all', 'saved', 'struct'])],
    ...rows,
  ]);
}

function typesTable(report: EvaluationReport): string {
  const head = [
    'type',
    'cases',
    'skill',
    'bm25',
    'reference',
    ...report.ratios.flatMap((r) => [`r=${r} recall`, 'saved']),
  ];
  const rows = [...report.byFamily, ...report.byType].map((group) => {
    const system = (name: string) => group.systems.find((s) => s.name === name);
    const own = system(PRUNER);
    const skills = [PRUNER, 'bm25', 'reference'].map((name) => decimal(system(name)?.skill ?? Number.NaN));
    const points = own?.points.flatMap((p) => [percent(p.recall), percent(p.savedTokens)]) ?? [];
    return [group.group, String(group.cases), ...skills, ...points];
  });
  return table([head, ...rows]);
}

function sameBudgetTable(report: EvaluationReport): string {
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
  return table([head, ...rows]);
}

/** The report as plain text for a terminal; shares in percent. */
export function renderReport(report: EvaluationReport): string {
  const { commits } = report;
  const skipped = Object.entries(report.skipped).map(([reason, count]) => `${reason} ${count}`);
  return `${[
    `${report.cases} cases from ${commits.used} commits of ${report.repository} (${report.head.slice(0, 12)}, ` +
      `${commits.inHistory} commits without merges, ${commits.seen} looked at, seed ${report.seed})`,
    `skipped: ${skipped.join(', ') || 'nothing'}`,
    '',
    `skill of ${PRUNER} ${interval(report.skill)} (95 %); ahead of bm25 by ${interval(report.leads.bm25 ?? report.skill)}, ` +
      `of the reference heuristics by ${interval(report.leads.reference ?? report.skill)}`,
    '',
    'In %: recall of the needed lines, cases with all of them kept, tokens saved (markers paid for), structural lines kept',
    systemsTable(report.all),
    '',
    `The same budget as ${PRUNER}: recall with as many lines kept, and on each curve at the same saving:`,
    sameBudgetTable(report),
    '',
    'By family and by file type:',
    typesTable(report),
    '',
    `time ${report.msPerMb.toFixed(1)} ms of CPU per MB; broken bounds ${report.violations}`,
  ].join('\n')}\n`;
}
