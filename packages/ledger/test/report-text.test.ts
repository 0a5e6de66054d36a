import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { SpentBy } from 'mcp-pruner/core/ports/spend.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { aKey } from '../../../test/contract/keys.suite.ts';
import { aTurn } from '../../../test/contract/ledger-store.suite.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { readReport } from '../src/ledger.ts';
import { spendCsv, spendText } from '../src/report/by.ts';
import { reportHtml } from '../src/report/ledger.ts';
import { reportText } from '../src/report/text.ts';
import { readSpend } from '../src/spend.ts';

const sum = (slice: LedgerSum['slice'], key: string, fields: Readonly<Record<string, number>>): LedgerSum[] =>
  Object.entries(fields).map(([field, value]) => ({
    day: '2026-11-20',
    project: 'shop',
    slice,
    key,
    field,
    value,
  }));

async function filled() {
  const { ledger } = openStore(':memory:');
  const turns = Array.from({ length: 30 }, (_, i) =>
    aTurn(`r${i}`, {
      atMs: Date.parse('2026-11-20'),
      conversationId: `c${i}`,
      arm: i % 5 === 0 ? 'control' : 'pruned',
    }),
  );
  const all = {
    requests: 30,
    dollars: 12.5,
    without: 15,
    regretDollars: 0.5,
    fresh: 1_000,
    read: 9_000,
    removed: 5_000,
  };
  await ledger.add(turns, [
    ...sum('all', '', { ...all, removedNew: 1_000, looked: 4_000, lookedRemoved: 1_000 }),
    ...sum('model', 'claude-opus-5', { ...all, guessed: 10_000, reported: 11_000 }),
    ...sum('tool', '<script>alert(1)</script>\tlog', { texts: 9, cut: 5, removed: 1_000, saved: 0.2, reread: 1 }),
    ...sum('miss', 'expired', { requests: 2, tokens: 8_000, dollars: 0.04 }),
  ]);
  return readReport(ledger, { sinceDay: '2026-11-19' });
}

describe('the report', () => {
  it.each([60, 80])('has no line that is wider than a terminal of %i columns', async (columns) => {
    const ledger = await filled();
    const long = {
      ...ledger,
      tools: ledger.tools.map((one) => ({ ...one, tool: 'mcp__a-very-long-server-name__and-a-tool-of-it' })),
    };
    for (const shown of [ledger, long, { ...ledger, totals: { ...ledger.totals, requests: 0 } }]) {
      const lines = reportText(shown, (_, line) => line, columns).split('\n');
      expect(lines.filter(({ length }) => length > columns)).toEqual([]);
    }
  });

  it('advises a cache lifetime of an hour if that pays, as does doctor', async () => {
    const dbPath = `${tempFolder()}/store.db`;
    makeStore(dbPath, edition.tables);
    const noon = Date.parse('2026-11-20T12:00:00Z');
    const paused = (missDollars: number, id: string) => [
      aTurn(`${id}1`, { conversationId: id, atMs: noon, wire: 'messages', write5m: 100, dollars: 0.1 }),
      aTurn(`${id}2`, {
        ...{ conversationId: id, atMs: noon + 600_000, wire: 'messages', write5m: 100, dollars: 1 },
        ...{ miss: 'expired', missDollars },
      }),
    ];
    const given = { env: { MCP_PRUNER_DB_PATH: dbPath }, clock: { nowMs: () => noon + 3_600_000 } };
    const said = async () => [(await run(['report'], given)).out, (await run(['doctor'], given)).out];
    const add = async (turns: readonly LedgerTurn[]) => {
      const store = openStore(dbPath);
      await store.ledger.add(turns, sum('all', '', { requests: 1 }));
      await store.close();
    };
    await add(paused(0.01, 'a'));
    for (const text of await said()) expect(text).not.toContain('ENABLE_PROMPT_CACHING_1H');
    expect((await said())[0]).toContain('the cache had expired for 1 request, which cost $0.01');
    await add(paused(3, 'b'));
    for (const text of await said()) {
      expect(text).toContain('the cache had expired for 2 requests, which cost $3.01');
      expect(text).toContain('ENABLE_PROMPT_CACHING_1H=1');
    }
  });

  it('shows dollars, four shares, causes, tools and the control group on a terminal', async () => {
    const text = reportText(await filled(), (_, line) => line, undefined).replaceAll(/ +/g, ' ');
    for (const part of [
      'spent $12.50',
      'saved, net $2.00 (13.3 % of the bill)',
      'texts that were examined (tokens) 1,000 4,000 25.0 %',
      'newly billed input (tokens) 1,000 2,000 50.0 %',
      'all input (tokens) 5,000 15,000 33.3 %',
      'expired',
      'the pause was longer than the cache lives',
      '24 conversations pruned, 6 left whole',
      'too few to tell',
      '1.10',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('is one HTML file that loads nothing and escapes every name', async () => {
    const html = reportHtml({ ...(await filled()), newest: [] }, '0');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).not.toMatch(/<script|https?:|src=|@import/);
  });
});

describe('spend by', () => {
  it('key, project, model and day is printed as a table, as CSV without formulas, and as JSON', async () => {
    const { ledger } = openStore(':memory:');
    const all = { requests: 3, dollars: 2, without: 5, fresh: 100, read: 900, output: 50, removed: 400 };
    await ledger.add(
      [],
      [
        ...sum('all', '', all),
        ...sum('model', '=cmd|"/C calc",x', all),
        ...sum('key', 'key_1', { ...all, dollars: 1.25 }),
        ...sum('key', 'user:ann', { ...all, dollars: 0.75 }),
      ],
    );
    const key = aKey('a', { id: 'key_1', name: 'ci, "web"', tokensPerDay: 1_000, dollarsPerMonth: 2.5, lastUsedMs: 5 });
    const today = Math.floor(Date.parse('2026-11-20') / 86_400_000);
    const counted = [{ keyId: 'key_1', span: 'day', at: today, used: 250 }] as const;
    const known = { all: async () => [key], counted: async () => counted };
    const rowsBy = (by: SpentBy) =>
      readSpend(ledger, known, { by, sinceDay: '2026-11-19' }, Date.parse('2026-11-20T12:00'));
    const keys = await rowsBy('key');
    expect(keys).toMatchObject([
      {
        name: 'key_1',
        dollars: 1.25,
        saved: 3.75,
        inputTokens: 1_000,
        cachedTokens: 900,
        key: { tokensToday: 250, dollarsThisMonth: 1.25 },
      },
      { name: 'user:ann', dollars: 0.75, key: { name: null } },
    ]);
    const text = spendText(keys, 'key', '2026-11-19', undefined).replaceAll(/ +/g, ' ');
    expect(text).toContain(
      'ci, "web" (key_1) 3 1,000 50 $1.25 $3.75 25.0 % of tokens/day, 50.0 % of $2.5/month 1970-01-01T00:00',
    );
    expect(spendCsv(keys, 'key').split('\r\n')[1]).toBe(
      'key_1,3,0,1000,900,50,1.25,5,3.75,400,"ci, ""web""",web it\'s "é",250,1000,1.25,2.5,1970-01-01T00:00:00.005Z'.replace(
        'web it\'s "é"',
        '"web it\'s ""é"""',
      ),
    );
    expect(spendCsv(await rowsBy('model'), 'model').split('\r\n')[1]).toMatch(/^"'=cmd\|""\/C calc"",x",3,/);
    expect((await rowsBy('project')).map(({ name }) => name)).toEqual(['shop']);
    expect((await rowsBy('day')).map(({ name, dollars }) => [name, dollars])).toEqual([['2026-11-20', 2]]);
  });

  it.each([
    [['--by', 'tool'], 'is not one of key, project, model, day'],
    [['--csv'], '--csv needs --by'],
    [['--by', 'key', '--csv', '--json'], 'exclude each other'],
  ])('%j is refused with the allowed values', async (args, words) => {
    const { code, err } = await run(['report', ...args], { env: {} });
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
  });
});
