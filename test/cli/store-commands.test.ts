import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { textHash } from '../../src/core/hash.ts';
import type { LedgerSum } from '../../src/core/ports/ledger-store.ts';
import type { Decision } from '../../src/core/ports.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { run as runPlain } from './fake-io.ts';

const NOW = Date.UTC(2026, 0, 10, 12);
const DAY = 24 * 60 * 60 * 1000;
const ESC = '\u001b';
const lines = Array.from({ length: 40 }, (_, i) => `line ${i + 1}`);
lines[19] = `line 20 ${ESC}[31mred`;
const text = `${lines.join('\r\n')}\r\n`;

const decision: Decision = {
  key: '0'.repeat(32),
  pruneId: 'prn_abcdefghijkl',
  textHash: textHash(text),
  cuts: [
    { startLine: 5, endLine: 6, reason: 'hors focus: debounce' },
    { startLine: 9, endLine: 30, reason: 'journal répétitif' },
  ],
  sourceType: 'logs',
  kind: 'service-log',
  whole: '',
  warnings: [],
  lines: 40,
  keptLines: 16,
  tokensBefore: 400,
  tokensAfter: 170,
  goal: 'debounce maxWait',
  tool: 'bash',
};

let folder: string;
let db: string;

/** Figures of a day by model and tool. */
function useSums(day: string, model: string, tool: string, fields: Readonly<Record<string, number>>): LedgerSum[] {
  const sum = { day, project: '', slice: 'use', key: `${model}\t${tool}` } as const;
  return Object.entries(fields).map(([field, value]) => ({ ...sum, field, value }));
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-cli-'));
  db = join(folder, 'store.db');
  const store = openSqliteStore({
    path: db,
    clock: { nowMs: () => NOW },
    ttlMs: 7 * DAY,
    maxBytes: 1e9,
    maxEvents: 100,
  });
  const other = { ...decision, key: '2'.repeat(32), pruneId: 'prn_0123456789AZ' };
  await store.commit({ decisions: [decision, other].map((made) => ({ decision: made, text })), touch: [] }, 1000);
  const used = { requests: 1, candidates: 2, pruned: 1, tokens_before: 1000, tokens_after: 250 };
  await store.ledger.add(
    [],
    [
      ...useSums('2026-01-10', 'gpt-x', 'bash', used),
      ...useSums('2026-01-09', `evil${ESC}[2J`, '', used),
      ...useSums('2025-12-31', 'old', 'read', used),
    ],
  );
  await store.close();
});

afterAll(() => rmSync(folder, { recursive: true }));

const run = (args: readonly string[], given = {}) =>
  runPlain(args, { env: { MCP_PRUNER_DB_PATH: db, ...given }, clock: { nowMs: () => NOW } });
const runOnTerminal = (args: readonly string[], env = {}) =>
  runPlain(args, { env: { MCP_PRUNER_DB_PATH: db, ...env }, clock: { nowMs: () => NOW }, outIsTerminal: true });

describe('mcp-pruner recover', () => {
  it('returns the original byte for byte', async () => {
    expect(await run(['recover', 'prn_abcdefghijkl'])).toEqual({ code: 0, out: text, err: '' });
  });

  it('prints only the requested lines, in the requested order', async () => {
    const { out } = await run(['recover', 'prn_abcdefghijkl', '--lines', '5-6,2']);
    expect(out).toBe('line 5\r\nline 6\r\nline 2\r\n');
  });

  it('stops at the last line, and reports the number of lines if more were requested', async () => {
    expect((await run(['recover', 'prn_abcdefghijkl', '--lines', '40-900'])).out).toBe('line 40\r\n');
    for (const command of ['recover', 'why']) {
      expect(await run([command, 'prn_abcdefghijkl', '--lines', '3,50-60'])).toEqual({
        code: 1,
        out: '',
        err: 'mcp-pruner: the text has 40 lines: 50-60 begins beyond its end\n',
      });
    }
  });

  it('accepts an id in upper or lower case, and a marker instead of an id and lines', async () => {
    const pruneId = 'prn_0123456789AZ';
    const marker = `⟦PRUNÉ: prune_id=${pruneId} lignes 2-3 (2) raison=hors focus⟧`;
    expect((await run(['recover', pruneId.toLowerCase()])).out).toBe(text);
    expect((await run(['recover', marker])).out).toBe('line 2\r\nline 3\r\n');
    expect((await run(['recover', marker, '--lines', '7'])).out).toBe('line 7\r\n');
    for (const lines of [[], ['--lines']]) expect((await run(['why', marker, ...lines])).out).toContain(pruneId);
    const regionsOf = async (named: string) => JSON.parse((await run(['why', named, '--json'])).out).regions;
    expect(await regionsOf(marker)).toEqual((await regionsOf(pruneId)).slice(1, 2));
  });

  it('never sends a control character of a text to a terminal', async () => {
    const { out } = await runOnTerminal(['recover', 'prn_abcdefghijkl', '--lines', '20']);
    expect(out).not.toContain(ESC);
    expect(out).toContain('line 20 ␛[31mred');
  });

  it.each(['recover', 'why'])('reports an unknown id in one line (%s)', async (command) => {
    const { code, out, err } = await run([command, 'prn_ZZZZZZZZZZZZ']);
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(
      /^mcp-pruner: the store has no "prn_ZZZZZZZZZZZZ": it is unknown here, has expired or was deleted\n$/,
    );
  });
});

describe('mcp-pruner why --lines', () => {
  it('shows cut lines with numbers and reasons, between the kept lines around them', async () => {
    const { code, out } = await run(['why', 'prn_abcdefghijkl', '--lines']);
    expect(code).toBe(0);
    const [head, counts, goal, ...body] = out.trimEnd().split('\n');
    expect(head).toBe('prn_abcdefghijkl  service-log from bash');
    expect(counts).toContain('40 lines -> 16, about 400 tokens -> 170');
    expect(goal).toBe('goal: debounce maxWait');
    expect(body.map((line) => line.trimEnd())).toEqual([
      '  2  line 2',
      '  3  line 3',
      '  4  line 4',
      '@@ 5-6 (2) off focus: debounce',
      '- 5  line 5',
      '- 6  line 6',
      '  7  line 7',
      '  8  line 8',
      '@@ 9-30 (22) repetitive log',
      ...lines.slice(8, 30).map((line, i) => `-${String(i + 9).padStart(2)}  ${line.replace(ESC, '␛')}`),
      ' 31  line 31',
      ' 32  line 32',
      ' 33  line 33',
    ]);
  });

  it('paints cut lines red and kept ones dim on a terminal', async () => {
    const { out } = await runOnTerminal(['why', 'prn_abcdefghijkl', '--lines']);
    expect(out).toContain(`${ESC}[31m- 5  line 5${ESC}[39m`);
    expect(out).toContain(`${ESC}[2m  7  line 7${ESC}[22m`);
  });

  it('has no colours in a pipe, with NO_COLOR, and on a dumb terminal', async () => {
    expect((await run(['why', 'prn_abcdefghijkl', '--lines'])).out).not.toContain(ESC);
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      expect((await runOnTerminal(['why', 'prn_abcdefghijkl', '--lines'], env)).out).not.toContain(ESC);
    }
  });
});

describe('mcp-pruner report --tokens', () => {
  it('shows totals by day and model for a week, with their sum, followed by totals by tool', async () => {
    const { code, out } = await run(['report', '--tokens']);
    expect(code).toBe(0);
    const rows = out.trimEnd().split('\n');
    expect(rows).toHaveLength(8);
    expect(rows[1]).toMatch(/^2026-01-10 +gpt-x +1 +2 +1 +1,000 +250 +750 +75 %$/);
    expect(rows[2]).toMatch(/^2026-01-09 +evil␛\[2J +1 /);
    expect(rows[3]).toMatch(/^total +2 +4 +2 +2,000 +500 +1,500 +75 %$/);
    expect(rows[6]).toMatch(/^bash +2 +1 +1,000 +250 +750 +75 %$/);
  });

  it('counts the requests of a day together with the texts of all their tools', async () => {
    const file = join(folder, 'two-tools.db');
    const two = openSqliteStore({ path: file, clock: { nowMs: () => NOW }, ttlMs: DAY, maxBytes: 1e9, maxEvents: 10 });
    const used = { candidates: 2, pruned: 1, tokens_before: 100, tokens_after: 50 };
    await two.ledger.add(
      [],
      [
        ...useSums('2026-01-10', 'm', 'bash', { ...used, requests: 3 }),
        ...useSums('2026-01-10', 'm', 'read', used), // its requests are counted with their first text
      ],
    );
    await two.close();
    const { out } = await run(['report', '--tokens'], { MCP_PRUNER_DB_PATH: file });
    expect(out).toMatch(/^2026-01-10 +m +3 +4 +2 +200 +100 +100 +50 %$/m);
    expect(out).not.toMatch(/ 0 +2 +1 /);
  });

  it.each([40, 60, 80])(
    'divides its tables so that no line is wider than a terminal of %i characters',
    async (columns) => {
      const { out } = await runPlain(['report', '--tokens'], {
        env: { MCP_PRUNER_DB_PATH: db },
        clock: { nowMs: () => NOW },
        columns,
      });
      expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(columns);
      for (const word of ['requests', 'pruned', 'tokens before', 'saved', '75 %']) expect(out).toContain(word);
    },
  );

  it('counts the days back from today', async () => {
    expect((await run(['report', '--tokens', '--since', '1d'])).out).not.toContain('2026-01-09');
    expect((await run(['report', '--tokens', '--since', '11d'])).out).toContain('2025-12-31');
  });

  it('prints JSON', async () => {
    const shown = JSON.parse((await run(['report', '--tokens', '--json', '--since', '2d'])).out) as Record<
      string,
      unknown
    >;
    expect(shown).toMatchObject({
      since: '2026-01-09',
      sum: { requests: 2, candidates: 4, pruned: 2, tokens_before: 2000, tokens_after: 500, tokens_saved: 1500 },
    });
    expect(shown.totals).toHaveLength(2);
  });

  it('shows sums by wire if requests were counted by wire', async () => {
    const file = join(folder, 'wires.db');
    const two = openSqliteStore({ path: file, clock: { nowMs: () => NOW }, ttlMs: DAY, maxBytes: 1e9, maxEvents: 10 });
    const used = { requests: 2, candidates: 2, pruned: 1, tokens_before: 1000, tokens_after: 250 };
    await two.ledger.add([], useSums('2026-01-10', 'm', 'bash', used));
    const sum = { day: '2026-01-10', project: '', slice: 'wire', key: 'messages' } as const;
    await two.ledger.add(
      [],
      [
        { ...sum, field: 'requests', value: 2 },
        { ...sum, field: 'tokens_before', value: 1000 },
        { ...sum, field: 'tokens_after', value: 250 },
        { ...sum, slice: 'model', field: 'requests', value: 7 },
      ],
    );
    await two.close();
    const { out } = await run(['report', '--tokens'], { MCP_PRUNER_DB_PATH: file });
    expect(out).toMatch(/^messages +2 +0 +0 +1,000 +250 +750 +75 %$/m);
    const shown = JSON.parse((await run(['report', '--tokens', '--json'], { MCP_PRUNER_DB_PATH: file })).out) as object;
    expect(shown).toMatchObject({ wires: [{ wire: 'messages', requests: 2, tokens_saved: 750 }] });
  });

  it('reports when nothing was recorded', async () => {
    const later = { nowMs: () => NOW + 400 * DAY };
    const { out } = await runPlain(['report', '--tokens'], { env: { MCP_PRUNER_DB_PATH: db }, clock: later });
    expect(out).toBe('nothing was recorded since 2027-02-08: only requests through the proxy are counted\n');
  });
});

describe('a missing store', () => {
  it.each([
    ['recover', 'prn_x'],
    ['why', 'prn_x'],
    ['report', '--tokens'],
  ])('is reported in one line and not created: %s', async (...args) => {
    const missing = join(folder, 'missing', 'store.db');
    const { code, err } = await run(args, { MCP_PRUNER_DB_PATH: missing });
    expect(code).toBe(1);
    expect(err).toMatch(/^mcp-pruner: there is no store at [^\n]+\n$/);
    expect(existsSync(join(folder, 'missing'))).toBe(false);
  });

  it('is distinguished from a file that is not a database', async () => {
    const wrong = join(folder, 'wrong.db');
    writeFileSync(wrong, 'no database '.repeat(100));
    const { code, err } = await run(['report', '--tokens'], { MCP_PRUNER_DB_PATH: wrong });
    expect(code).toBe(1);
    expect(err).toMatch(/^mcp-pruner: cannot use the store [^\n]*wrong\.db[^\n]+\n$/);
  });
});
