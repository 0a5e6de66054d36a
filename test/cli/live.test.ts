import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { main } from '../../src/cli/main.ts';
import type { EventRecord } from '../../src/core/ports.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { aPrune, manualClock } from '../contract/store.suite.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { program } from '../helpers/program.ts';
import { until } from '../helpers/until.ts';
import { fakeIo, run as runPlain } from './fake-io.ts';

const clock = manualClock(Date.UTC(2026, 0, 10, 12));
const PRUNE = 'prn_0123456789AB';
let db: string;
let store: SqliteStore;

function event(kind: string, payload: object, over: Partial<EventRecord> = {}): EventRecord {
  return {
    tsMs: clock.now,
    kind,
    level: 'info',
    runId: 'conversation-1',
    opId: null,
    payload: payload as EventRecord['payload'],
    ...over,
  };
}

const request = (saved: number, over = {}) =>
  event('request', { model: 'gpt-x', messages: 9, status: 200, tokens_saved: saved }, over);
const pruned = (tool: string) =>
  event('pruned', { tool, prune_id: PRUNE, lines: 400, kept_lines: 40, tokens_before: 9_000, tokens_after: 800 });

beforeEach(async () => {
  db = join(tempFolder(), 'store.db');
  store = openSqliteStore({ path: db, clock, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1_000 });
  afterwards(() => store.close());
  await store.commit({ decisions: [aPrune('a', 'text', { pruneId: PRUNE })], touch: [] }, 0);
});

const env = () => ({ MCP_PRUNER_DB_PATH: db });
const run = (...args: string[]) => runPlain(['report', '--live', ...args], { env: env(), clock });

describe('mcp-pruner report --live', () => {
  it('shows what was cut, where and why, and the total saving', async () => {
    await store.addEvents([request(1_500), pruned('bash'), event('candidate', {}, { level: 'debug' }), request(2_500)]);
    const { code, out } = await run('--once');
    expect(code).toBe(0);
    expect(out.split('\n')).toEqual([
      '12:00:00 sation-1 request        gpt-x 9 messages, status 200, saved 1,500 tokens, 1,500 in all',
      `12:00:00 sation-1 pruned         bash 400 -> 40 lines, -8,200 tokens ${PRUNE}`,
      '    lines 3-17: off focus: a',
      '12:00:00 sation-1 request        gpt-x 9 messages, status 200, saved 2,500 tokens, 4,000 in all',
      '',
    ]);
  });

  it('lists the existing kinds if a requested kind has not occurred yet', async () => {
    await store.addEvents([request(1), pruned('bash')]);
    const { code, out, err } = await run('--once', '--kind', 'bogus,request');
    expect(code).toBe(0);
    expect(out).toContain('request');
    expect(err).toBe('mcp-pruner: no event of kind "bogus" so far; the store has pruned, request\n');
  });

  it('filters by run, tool, kind and time', async () => {
    await store.addEvents([
      request(1, { tsMs: clock.now - 600_000 }),
      pruned('bash'),
      pruned('read'),
      event('left_whole', { tool: 'read', reason: 'reread' }, { level: 'debug' }),
      request(2, { runId: 'other' }),
    ]);
    const kinds = async (...args: string[]) =>
      (await run('--once', '--json', ...args)).out.split('\n').flatMap((line) => (line ? JSON.parse(line).kind : []));
    expect(await kinds()).toEqual(['request', 'pruned', 'pruned', 'request']);
    expect(await kinds('--tool', 'read')).toEqual(['pruned']);
    expect(await kinds('--kind', 'left_whole,pruned')).toEqual(['pruned', 'pruned', 'left_whole']);
    expect(await kinds('--run', 'other')).toEqual(['request']);
    expect(await kinds('--since', '5m')).toEqual(['pruned', 'pruned', 'request']);
    expect(await run('--since', 'yesterday')).toMatchObject({ code: 2, err: expect.stringContaining('10m') });
  });

  it('begins with the last twenty events and follows what another process writes, until Ctrl-C', async () => {
    await store.addEvents(Array.from({ length: 30 }, (_, i) => request(i)));
    const { io, events, ran } = fakeIo({ env: env(), clock });
    const ended = main(['report', '--live', '--json'], io, program);
    const lines = () => ran(0).out.split('\n').filter(Boolean);
    await until(() => lines().length === 20);
    await store.addEvents([pruned('bash')]);
    await until(() => lines().length === 21);
    expect(JSON.parse(lines()[20] ?? '')).toMatchObject({ kind: 'pruned', seq: 31 });
    events.emit('SIGINT');
    expect(await ended).toBe(0);
    expect(events.listenerCount('SIGINT')).toBe(0);
  });

  it('uses colours only on a terminal, and shows control characters escaped', async () => {
    await store.addEvents([pruned('evil\u001b[2J')]);
    const painted = await runPlain(['report', '--live', '--once'], { env: env(), clock, outIsTerminal: true });
    expect(painted.out).toContain('\u001b[32m');
    expect(painted.out).not.toContain('\u001b[2J');
    expect((await run('--once')).out).not.toContain('\u001b');
  });
});
