import { table } from '../eval/table.ts';
import type { KeyFacts, SpendRow } from '../ledger/spend.ts';
import type { SpentBy } from '../ledger/spent-by.ts';
import { count, money, percent } from './report-words.ts';
import { printable } from './terminal.ts';

/** As RFC 4180 has it: a heading, lines that end with CRLF, quotes where needed. */
export function spendCsv(rows: readonly SpendRow[], by: SpentBy): string {
  const heading = [
    ...[by, 'requests', 'unpriced_requests', 'input_tokens', 'cached_tokens', 'output_tokens'],
    ...['dollars', 'dollars_without_pruning', 'saved_dollars', 'removed_tokens'],
    ...(by === 'key' ? KEY_HEADING : []),
  ];
  const lines = rows.map((row) => [
    ...[row.name, row.requests, row.unpriced, row.inputTokens, row.cachedTokens, row.outputTokens],
    ...[row.dollars, row.dollarsWithout, row.saved, row.removedTokens],
    ...(by === 'key' ? keyCells(row.key) : []),
  ]);
  return [heading, ...lines].map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

const KEY_HEADING = [
  ...['key_name', 'projects', 'tokens_today', 'tokens_per_day'],
  ...['dollars_this_month', 'dollars_per_month', 'last_used'],
];

function keyCells(key: KeyFacts | undefined): (string | number | null)[] {
  if (key === undefined) return KEY_HEADING.map(() => null);
  const { name, projects, tokensToday, tokensPerDay, dollarsThisMonth, dollarsPerMonth, lastUsedMs } = key;
  return [name, projects.join(' '), tokensToday, tokensPerDay, dollarsThisMonth, dollarsPerMonth, timeOf(lastUsedMs)];
}

/** A name that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvCell(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

/** The rows as a table. @param width - of the terminal; absent where it is none */
export function spendText(rows: readonly SpendRow[], by: SpentBy, since: string, width: number | undefined): string {
  if (rows.length === 0) return `nothing was recorded by ${by} since ${since}\n`;
  const heading = [
    by,
    'requests',
    'tokens in',
    'out',
    'spent',
    'saved',
    ...(by === 'key' ? ['limits used', 'last used'] : []),
  ];
  const cells = rows.map((row) => [
    printable(row.key?.name ? `${row.key.name} (${row.name})` : row.name || '(none)').replaceAll(/[\t\n]/g, ' '),
    count(row.requests),
    count(row.inputTokens),
    count(row.outputTokens),
    money(row.dollars),
    money(row.saved),
    ...(by === 'key' ? [limitsUsed(row.key), timeOf(row.key?.lastUsedMs ?? null)?.slice(0, 16) ?? '-'] : []),
  ]);
  return `Spend by ${by} since ${since} (UTC)\n\n${table([heading, ...cells], { width })}\n`;
}

function limitsUsed(key: KeyFacts | undefined): string {
  if (key === undefined) return '-';
  const { tokensToday, tokensPerDay, dollarsThisMonth, dollarsPerMonth } = key;
  const used = [
    ...(tokensPerDay === null ? [] : [`${percent(tokensToday / tokensPerDay)} of tokens/day`]),
    ...(dollarsPerMonth === null
      ? []
      : [`${percent(dollarsThisMonth / dollarsPerMonth)} of $${dollarsPerMonth}/month`]),
  ];
  return used.join(', ') || '-';
}
