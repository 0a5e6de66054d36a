import type { LedgerReport } from '../core/ports/ledger.ts';
import { table, wrap } from '../eval/table.ts';
import { count, headline, money, partsOf } from './report-words.ts';
import { type Paint, printable } from './terminal.ts';

const BAR = 30;
const MAX_DAYS = 31;

/** The report as a page of text. @param width - of the terminal; absent where it is none */
export function reportText(told: LedgerReport, paint: Paint, width: number | undefined): string {
  const notes = told.notes.map((note) => wrap(printable(note), width, 2));
  if (told.totals.requests === 0) {
    return `${notes.map((note) => `${note}\n`).join('')}nothing was recorded since ${told.sinceDay}: requests through the proxy count\nmcp-pruner report --sessions tells what pruning would have changed in sessions of the past\n`;
  }
  const of = told.project === null ? '' : ` of ${printable(told.project)}`;
  const lines = [paint('bold', `Ledger${of} since ${told.sinceDay} (UTC)`), ''];
  if (notes.length > 0) lines.push(...notes, '');
  lines.push(table(headline(told)), '', ...days(told, paint));
  for (const { title, note, words, rows } of partsOf(told)) {
    const safe = rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\t\n]/g, ' ')));
    lines.push('', paint('bold', title));
    if (note !== '') lines.push(paint('dim', note));
    lines.push(table(safe, { words, ...(width !== undefined && { width }) }));
  }
  return `${lines.join('\n')}\n`;
}

/** What was spent (full) and what would have been spent beside (light), day by day. */
function days({ days: all }: LedgerReport, paint: Paint): string[] {
  const shown = all.slice(0, MAX_DAYS).toReversed();
  const inDollars = shown.some(({ dollarsWithout }) => dollarsWithout > 0);
  const spent = (day: LedgerReport['days'][number]): number =>
    inDollars ? day.dollars : day.fresh + day.write5m + day.write1h + day.read;
  const without = (day: LedgerReport['days'][number]): number =>
    inDollars ? Math.max(day.dollars, day.dollarsWithout) : spent(day) + day.removed;
  const most = Math.max(...shown.map(without), Number.MIN_VALUE);
  const show = inDollars ? money : count;
  const rows = shown.map((day) => {
    const full = Math.round((BAR * spent(day)) / most);
    const light = Math.max(0, Math.round((BAR * without(day)) / most) - full);
    return `${day.day}  ${'█'.repeat(full)}${'░'.repeat(light)}${' '.repeat(Math.max(0, BAR - full - light))}  ${show(spent(day))} of ${show(without(day))}`;
  });
  return [
    paint(
      'bold',
      inDollars ? 'Dollars by day: spent, and without pruning' : 'Input tokens by day, and without pruning',
    ),
    ...rows,
  ];
}
