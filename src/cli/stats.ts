import type { UsageTotal } from '../core/ports.ts';
import { type Call, type Command, configOption, type Io, textOption, UsageError } from './command.ts';
import { withStore } from './open-store.ts';
import { type Paint, painter, printable } from './terminal.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DEFAULT_DAYS = 7;

export const stats: Command = {
  usage: 'stats [--days 7] [--json]',
  about: 'Shows what was saved, by day (UTC), model and tool. Tokens are estimates.',
  options: {
    ...configOption,
    days: { type: 'string', value: '<n>', doc: `how many days, today included (default ${DEFAULT_DAYS})` },
    json: { type: 'boolean', doc: 'print JSON' },
  },
  arguments: { least: 0, most: 0 },

  async run(call, io) {
    const since = firstDay(daysOf(call), io.clock.nowMs());
    const totals = await withStore(call, io, (store) => store.usage(since));
    if (call.values.json === true) io.out(`${JSON.stringify(asJson(since, totals), null, 2)}\n`);
    else if (totals.length === 0) io.out(`nothing was recorded since ${since}: requests through the proxy count\n`);
    else writeTable(totals, io, painter(io));
    return 0;
  },
};

function daysOf(call: Call): number {
  const text = textOption(call, 'days') ?? String(DEFAULT_DAYS);
  const days = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (days < 1) throw new UsageError(`--days ${JSON.stringify(text)} is not a number of days from 1 on`);
  return days;
}

function firstDay(days: number, nowMs: number): string {
  return new Date(nowMs - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}

type Sums = Pick<UsageTotal, 'requests' | 'candidates' | 'pruned' | 'tokensBefore' | 'tokensAfter'>;

function sumOf(totals: readonly UsageTotal[]): Sums {
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

function asJson(since: string, totals: readonly UsageTotal[]) {
  return {
    since,
    totals: totals.map((total) => ({ day: total.day, model: total.model, tool: total.tool, ...wireSums(total) })),
    sum: wireSums(sumOf(totals)),
  };
}

const HEAD = ['day', 'model', 'tool', 'requests', 'candidates', 'pruned', 'tokens before', 'after', 'saved', '%'];
/** Columns of words, which stand to the left; the others are figures. */
const WORD_COLUMNS = 3;

function writeTable(totals: readonly UsageTotal[], io: Io, paint: Paint): void {
  const body = totals.map((total) => [total.day, name(total.model), name(total.tool), ...figures(total)]);
  const sum = ['total', '', '', ...figures(sumOf(totals))];
  const widths = HEAD.map((_, column) => Math.max(...[HEAD, ...body, sum].map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) =>
        column < WORD_COLUMNS ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join('  ')
      .trimEnd();
  io.out(`${paint('dim', line(HEAD))}\n`);
  for (const row of body) io.out(`${line(row)}\n`);
  io.out(`${paint('bold', line(sum))}\n`);
}

function name(text: string): string {
  return text === '' ? '-' : printable(text).replaceAll(/[\t\n]/g, ' ');
}

function figures(sums: Sums): string[] {
  const saved = sums.tokensBefore - sums.tokensAfter;
  const share = sums.tokensBefore === 0 ? '-' : `${Math.round((100 * saved) / sums.tokensBefore)} %`;
  const counts = [sums.requests, sums.candidates, sums.pruned, sums.tokensBefore, sums.tokensAfter, saved];
  return [...counts.map((count) => count.toLocaleString('en-US')), share];
}
