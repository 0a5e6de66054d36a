import { count } from 'mcp-pruner/base/counts.ts';
import { type Column, rowsAsCsv, rowsAsText, shownRows } from 'mcp-pruner/cli/columns.ts';
import { type Call, type Io, textOption, UsageError } from 'mcp-pruner/cli/command.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { moneyColumn, percent } from 'mcp-pruner/cli/words.ts';
import { type KeyFacts, SPENT_BY, type SpendRow, type SpentBy } from 'mcp-pruner/core/ports/spend.ts';
import { readSpend } from '../spend.ts';
import { sinceDayOf } from './since.ts';

/** Columns with figures of rows, whose dollars have the same number of decimals. */
const figuresOf = (rows: readonly SpendRow[]): readonly Column<SpendRow>[] => [
  { shown: ['requests', ({ requests }) => count(requests)], csv: ['requests', ({ requests }) => requests] },
  { csv: ['unpriced_requests', ({ unpriced }) => unpriced] },
  {
    shown: ['tokens in', ({ inputTokens }) => count(inputTokens)],
    csv: ['input_tokens', (row) => Math.round(row.inputTokens)],
  },
  { csv: ['cached_tokens', ({ cachedTokens }) => Math.round(cachedTokens)] },
  {
    shown: ['out', ({ outputTokens }) => count(outputTokens)],
    csv: ['output_tokens', (row) => Math.round(row.outputTokens)],
  },
  {
    shown: ['spent', ({ dollars }) => moneyColumn(rows.map((row) => row.dollars))(dollars)],
    csv: ['dollars', ({ dollars }) => dollars],
  },
  { csv: ['dollars_without_pruning', ({ dollarsWithout }) => dollarsWithout] },
  {
    shown: ['saved', ({ saved }) => moneyColumn(rows.map((row) => row.saved))(saved)],
    csv: ['saved_dollars', ({ saved }) => saved],
  },
  { csv: ['removed_tokens', ({ removedTokens }) => Math.round(removedTokens)] },
];

const LIMITS: readonly Column<SpendRow>[] = [
  { csv: ['key_name', ({ key }) => key?.name ?? null] },
  { csv: ['projects', ({ key }) => key?.projects.join(' ') ?? null] },
  { csv: ['tokens_today', ({ key }) => (key ? Math.round(key.tokensToday) : null)] },
  { csv: ['tokens_per_day', ({ key }) => key?.tokensPerDay ?? null] },
  { csv: ['dollars_this_month', ({ key }) => key?.dollarsThisMonth ?? null] },
  { csv: ['dollars_per_month', ({ key }) => key?.dollarsPerMonth ?? null] },
  { shown: ['limits used', ({ key }) => limitsUsed(key)] },
  { shown: ['last used', (row) => lastUsed(row)?.slice(0, 16) ?? '-'], csv: ['last_used', lastUsed] },
];

function columnsBy(by: SpentBy, rows: readonly SpendRow[]): readonly Column<SpendRow>[] {
  const shownName = ({ name, key }: SpendRow): string => (key?.name ? `${key.name} (${name})` : name || '(none)');
  const first: Column<SpendRow> = { shown: [by, shownName], csv: [by, ({ name }) => name] };
  return [first, ...figuresOf(rows), ...(by === 'key' ? LIMITS : [])];
}

export function spendCsv(rows: readonly SpendRow[], by: SpentBy): string {
  return rowsAsCsv(columnsBy(by, rows), rows);
}

/** Formats rows as a table. @param width - terminal width; absent without a terminal */
export function spendText(rows: readonly SpendRow[], by: SpentBy, since: string, width: number | undefined): string {
  if (rows.length === 0) return `nothing was recorded since ${since} that can be listed by ${by}\n`;
  return `Spend by ${by} since ${since} (UTC)\n\n${rowsAsText(shownRows(columnsBy(by, rows), rows), 1, width)}\n`;
}

function lastUsed({ key }: SpendRow): string | null {
  const ms = key?.lastUsedMs ?? null;
  return ms === null ? null : new Date(ms).toISOString();
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

/** `report --by`: one row per key, project, model or day. @throws UsageError */
export async function spendView(call: Call, io: Io, days: number): Promise<number> {
  const text = textOption(call, 'by');
  const by = SPENT_BY.find((known) => known === text);
  if (by === undefined) throw new UsageError(`--by ${JSON.stringify(text)} is not one of ${SPENT_BY.join(', ')}`);
  const query = { by, sinceDay: sinceDayOf(io, days), project: textOption(call, 'project') };
  const rows = await withStore(call, io, async (store) => {
    const keys = by === 'key' ? await store.keys() : null;
    return readSpend(store.ledger, keys, query, io.clock.nowMs());
  });
  if (call.values.csv === true) io.out(spendCsv(rows, by));
  else if (call.values.json === true) io.out(`${JSON.stringify({ by, sinceDay: query.sinceDay, rows }, null, 2)}\n`);
  else io.out(spendText(rows, by, query.sinceDay, io.columns));
  return 0;
}
