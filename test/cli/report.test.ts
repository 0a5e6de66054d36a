import { describe, expect, it } from 'vitest';
import { reportHtml } from '../../src/cli/report-html.ts';
import { reportText } from '../../src/cli/report-text.ts';
import type { LedgerSum } from '../../src/core/ports/ledger.ts';
import { readReport } from '../../src/ledger/ledger.ts';
import { aTurn } from '../contract/ledger-store.suite.ts';
import { openStore } from '../helpers/rewriter.ts';

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
    const told = await filled();
    const long = {
      ...told,
      tools: told.tools.map((one) => ({ ...one, tool: 'mcp__a-very-long-server-name__and-a-tool-of-it' })),
    };
    for (const shown of [told, long, { ...told, totals: { ...told.totals, requests: 0 } }]) {
      const lines = reportText(shown, (_, line) => line, columns).split('\n');
      expect(lines.filter(({ length }) => length > columns)).toEqual([]);
    }
  });

  it('shows dollars, four shares, causes, tools and the control group on a terminal', async () => {
    const text = reportText(await filled(), (_, line) => line, undefined).replaceAll(/ +/g, ' ');
    for (const part of [
      'spent $12.50',
      'saved, net $2.00 (13.3 % of the bill)',
      'the texts that were looked at (tokens) 1,000 4,000 25.0 %',
      'newly billed input (tokens) 1,000 2,000 50.0 %',
      'all input (tokens) 5,000 15,000 33.3 %',
      'expired: too long since the request before',
      '24 conversations pruned, 6 left whole',
      'too few to tell',
      '1.10',
    ]) {
      expect(text).toContain(part);
    }
  });

  it('is one HTML file that asks for nothing and takes every name for text', async () => {
    const html = reportHtml(await filled(), '0');
    expect(html).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(html).not.toMatch(/<script|https?:|src=|@import/);
  });
});
