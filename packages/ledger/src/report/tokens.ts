import { readContexts } from '@mcp-pruner/money/compactions.ts';
import { type Call, type Io, type Paint, painter, printable } from 'mcp-pruner/cli/command.ts';
import { contextText } from 'mcp-pruner/cli/context-text.ts';
import { titled } from 'mcp-pruner/cli/conversations.ts';
import { withStore } from 'mcp-pruner/cli/open-store.ts';
import { table, wrapped } from 'mcp-pruner/cli/table.ts';
import type { LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { wholeNotes } from '../report.ts';
import { sinceDayOf } from './since.ts';

/** `report --tokens`: cut tokens, counting each text once, by day (UTC) and model, by tool, and by wire. */
export async function tokensView(call: Call, io: Io, days: number): Promise<number> {
  const since = sinceDayOf(io, days);
  const [totals, wires, whole, contexts] = await withStore(call, io, async (store) => [
    totalsOf(await store.ledger.sums({ sinceDay: since, slice: 'use' })),
    wiresOf(await store.ledger.sums({ sinceDay: since, slice: 'wire' })),
    await store.ledger.sums({ sinceDay: since, slice: 'whole' }),
    await titled(store, await readContexts(store.compactions, { sinceDay: since })),
  ]);
  const { compactions } = contexts;
  if (call.values.json === true)
    io.out(
      `${JSON.stringify({ ...asJson(since, totals, wires), passed_whole: byReason(whole), compactions }, null, 2)}\n`,
    );
  else if (totals.length === 0)
    io.out(`nothing was recorded since ${since}: only requests through the proxy are counted\n`);
  else {
    writeTables(totals, io, painter(io));
    writeWires(wires, io, painter(io));
    for (const note of wholeNotes(whole)) io.out(`\n${wrapped(note, '', io)}`);
    io.out(contextText(contexts));
  }
  return 0;
}

/** Sums over texts, each counted in the request in which it was new. Tokens are estimates. */
interface Sums {
  requests: number;
  candidates: number;
  pruned: number;
  tokensBefore: number;
  tokensAfter: number;
}

interface UsageTotal extends Sums {
  readonly day: string;
  readonly model: string;
  readonly tool: string;
}

function sumOf(totals: readonly Sums[]): Sums {
  const sum = { requests: 0, candidates: 0, pruned: 0, tokensBefore: 0, tokensAfter: 0 };
  for (const total of totals) {
    sum.requests += total.requests;
    sum.candidates += total.candidates;
    sum.pruned += total.pruned;
    sum.tokensBefore += total.tokensBefore;
    sum.tokensAfter += total.tokensAfter;
  }
  return sum;
}

function wireSums({ requests, candidates, pruned, tokensBefore, tokensAfter }: Sums) {
  return {
    requests,
    candidates,
    pruned,
    tokens_before: tokensBefore,
    tokens_after: tokensAfter,
    tokens_saved: tokensBefore - tokensAfter,
  };
}

function asJson(since: string, totals: readonly UsageTotal[], wires: ReadonlyMap<string, Sums>) {
  return {
    since,
    totals: totals.map((total) => ({ day: total.day, model: total.model, tool: total.tool, ...wireSums(total) })),
    wires: [...wires].map(([wire, sums]) => ({ wire, ...wireSums(sums) })),
    sum: wireSums(sumOf(totals)),
  };
}

const BY_DAY = ['day', 'model', 'requests', 'texts', 'pruned', 'tokens before', 'after', 'saved', '%'];
const BY_WIRE = ['wire', 'requests', 'texts', 'pruned', 'tokens before', 'after', 'saved', '%'];
const BY_TOOL = ['tool', 'texts', 'pruned', 'tokens before', 'after', 'saved', '%'];

/** Prints the tables. Requests are only listed by day and model, because a request may have texts of several tools. */
function writeTables(totals: readonly UsageTotal[], io: Io, paint: Paint): void {
  const days = grouped(totals, ({ day, model }) => `${day}\0${model}`).map((group) => [
    group[0]?.day ?? '',
    name(group[0]?.model ?? ''),
    String(sumOf(group).requests),
    ...figures(sumOf(group)),
  ]);
  const all = sumOf(totals);
  write([BY_DAY, ...days, ['total', '', all.requests.toLocaleString('en-US'), ...figures(all)]], 2, io, paint);
  const tools = grouped(
    totals.filter(({ candidates }) => candidates > 0),
    ({ tool }) => tool,
  )
    .toSorted((a, b) => savedBy(b) - savedBy(a))
    .map((group) => [name(group[0]?.tool ?? ''), ...figures(sumOf(group))]);
  if (tools.length === 0) return;
  io.out('\n');
  write([BY_TOOL, ...tools], 1, io, paint);
}

/** Number of requests whose new texts were left whole, by reason. */
function byReason(figures: readonly LedgerSum[]): Record<string, number> {
  return Object.fromEntries(
    Array.from(
      sumsBy(figures, ({ key }) => key),
      ([reason, { requests }]) => [reason, requests] as const,
    ).filter(([, requests]) => requests > 0),
  );
}

const FIELDS: Readonly<Record<string, keyof Sums>> = {
  requests: 'requests',
  candidates: 'candidates',
  pruned: 'pruned',
  tokens_before: 'tokensBefore',
  tokens_after: 'tokensAfter',
};

function sumsBy(figures: readonly LedgerSum[], nameOf: (figure: LedgerSum) => string): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const [name, group] of groupBy(figures, nameOf)) {
    const sum = sumOf([]);
    for (const { field, value } of group) {
      const counted = FIELDS[field];
      if (counted !== undefined) sum[counted] += value;
    }
    sums.set(name, sum);
  }
  return sums;
}

/** Newest day first, then by model and tool. */
function totalsOf(figures: readonly LedgerSum[]): UsageTotal[] {
  const sums = sumsBy(figures, ({ day, key }) => `${day}\t${key}`);
  const totals = Array.from(sums, ([name, sum]): UsageTotal => {
    const [day = '', model = '', tool = ''] = name.split('\t');
    return { day, model, tool, ...sum };
  });
  return totals.sort((a, b) => order(b.day, a.day) || order(a.model, b.model) || order(a.tool, b.tool));
}

function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Sums by wire, excluding older requests that were counted without a wire. */
function wiresOf(figures: readonly LedgerSum[]): Map<string, Sums> {
  return new Map([...sumsBy(figures, ({ key }) => key)].sort(([a], [b]) => order(a, b)));
}

function writeWires(wires: ReadonlyMap<string, Sums>, io: Io, paint: Paint): void {
  if (wires.size === 0) return;
  const rows = [...wires].map(([wire, sums]) => [name(wire), sums.requests.toLocaleString('en-US'), ...figures(sums)]);
  io.out('\n');
  write([BY_WIRE, ...rows], 1, io, paint);
}

function grouped(totals: readonly UsageTotal[], keyOf: (total: UsageTotal) => string): UsageTotal[][] {
  return [...groupBy(totals, keyOf).values()];
}

function savedBy(group: readonly UsageTotal[]): number {
  const { tokensBefore, tokensAfter } = sumOf(group);
  return tokensBefore - tokensAfter;
}

function write(rows: readonly (readonly string[])[], textColumns: number, io: Io, paint: Paint): void {
  const text = table(rows, { textColumns, width: io.columns });
  for (const line of text.split('\n')) {
    const style = line.startsWith('total') ? 'bold' : line.startsWith(rows[0]?.[0] ?? '') ? 'dim' : null;
    io.out(`${style === null ? line : paint(style, line)}\n`);
  }
}

function name(text: string): string {
  return text === '' ? '-' : printable(text).replaceAll(/[\t\n]/g, ' ');
}

function figures(sums: Sums): string[] {
  const saved = sums.tokensBefore - sums.tokensAfter;
  const share = sums.tokensBefore === 0 ? '-' : `${Math.round((100 * saved) / sums.tokensBefore)} %`;
  const counts = [sums.candidates, sums.pruned, sums.tokensBefore, sums.tokensAfter, saved];
  return [...counts.map((count) => count.toLocaleString('en-US')), share];
}
