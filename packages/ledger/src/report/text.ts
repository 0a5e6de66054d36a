import { count } from 'mcp-pruner/base/counts.ts';
import { rowsAsText } from 'mcp-pruner/cli/columns.ts';
import { type Paint, printable } from 'mcp-pruner/cli/command.ts';
import { table, wrap } from 'mcp-pruner/cli/table.ts';
import { headline, holdoutPart, moneyColumn, partsOf } from 'mcp-pruner/cli/words.ts';
import type { HoldoutResult, LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';

const BAR = 30;
const LEAST_BAR = 4;
const MAX_DAYS = 31;

/** Formats the report as text. @param width - terminal width; absent without a terminal */
export function reportText(report: LedgerReport, paint: Paint, width: number | undefined): string {
  const notes = report.notes.map((note) => wrap(printable(note), width, 2));
  if (report.totals.requests === 0) {
    const nothing = [
      `nothing was recorded since ${report.sinceDay}: only requests through the proxy are counted`,
      'mcp-pruner report --sessions shows what pruning would have changed in past sessions',
    ];
    return [...notes, ...nothing.map((line) => wrap(line, width, 2)), ''].join('\n');
  }
  const ofProject = report.project === null ? '' : ` of ${printable(report.project)}`;
  const lines = [paint('bold', `Ledger${ofProject} since ${report.sinceDay} (UTC)`), ''];
  if (notes.length > 0) lines.push(...notes, '');
  lines.push(table(headline(report), { width }), '', ...days(report, paint, width));
  for (const { title, note, textColumns, rows } of partsOf(report)) {
    lines.push('', paint('bold', title));
    if (note !== '') lines.push(paint('dim', wrap(note, width)));
    lines.push(rowsAsText(rows, textColumns, width));
  }
  return `${lines.join('\n')}\n`;
}

/** Daily chart: spend (solid), and additional spend without pruning (light). */
function days({ days: all }: LedgerReport, paint: Paint, width: number | undefined): string[] {
  const shown = all.slice(0, MAX_DAYS).toReversed();
  const inDollars = shown.some(({ dollarsWithout }) => dollarsWithout > 0);
  const spent = (day: LedgerReport['days'][number]): number =>
    inDollars ? day.dollars : day.fresh + day.write5m + day.write1h + day.read;
  const without = (day: LedgerReport['days'][number]): number =>
    inDollars ? Math.max(day.dollars, day.dollarsWithout) : spent(day) + day.removed;
  const most = Math.max(...shown.map(without), Number.MIN_VALUE);
  const show = inDollars ? moneyColumn(shown.flatMap((day) => [spent(day), without(day)])) : count;
  const figures = shown.map((day) => `${show(spent(day))} of ${show(without(day))}`);
  const beside = '2026-01-01'.length + 4 + Math.max(0, ...figures.map(({ length }) => length));
  const bar = Math.max(LEAST_BAR, Math.min(BAR, (width ?? Number.POSITIVE_INFINITY) - beside));
  const rows = shown.map((day, i) => {
    const full = Math.round((bar * spent(day)) / most);
    const light = Math.max(0, Math.round((bar * without(day)) / most) - full);
    return `${day.day}  ${'█'.repeat(full)}${'░'.repeat(light)}${' '.repeat(Math.max(0, bar - full - light))}  ${figures[i] ?? ''}`;
  });
  return [
    paint(
      'bold',
      inDollars ? 'Dollars by day: spent, and without pruning' : 'Input tokens by day, and without pruning',
    ),
    ...rows,
  ];
}

export function comparedText(holdout: HoldoutResult | null, paint: Paint, width: number | undefined): string {
  const { title, note, textColumns, rows } = holdoutPart({ holdout });
  if (rows.length === 0) return 'no conversation of the control group\n';
  const lines = [paint('bold', title), paint('dim', wrap(note, width)), rowsAsText(rows, textColumns, width)];
  return `${lines.join('\n')}\n`;
}
