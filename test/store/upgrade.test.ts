import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { termsOfQuery } from '@mcp-pruner/recall/query.ts';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { describe, expect, it } from 'vitest';
import { edition } from '../../src/edition.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { hasPostgres, newDatabase, runSql } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { openStore, tempPath } from './helpers.ts';

/** A store of the version before the first release, and what that version forwarded, stored and billed with it. */
const recorded = (name: string): Buffer =>
  gunzipSync(readFileSync(new URL(`../fixtures/store-107/${name}.gz`, import.meta.url)));

interface SearchedRow {
  readonly project: string;
  readonly about: string;
}

interface Recorded {
  readonly nowMs: number;
  readonly requests: readonly { path: string; headers: Record<string, string>; body: string; sent: string }[];
  readonly originals: Readonly<Record<string, string>>;
  readonly totals: readonly object[];
}

const { nowMs, requests, originals, totals } = JSON.parse(recorded('recorded.json').toString()) as Recorded;

function earlierStore(): string {
  const path = tempPath();
  writeFileSync(path, recorded('store.db'));
  return path;
}

const sorted = (items: readonly object[]): string[] => items.map((item) => JSON.stringify(item)).sort();

describe('a store of the version before the first release', () => {
  it('keeps every original and every sum', async () => {
    const store = openStore(earlierStore(), { clock: manualClock(nowMs) });
    for (const [id, original] of Object.entries(originals)) expect(await store.findOriginal(id)).toBe(original);
    expect(sorted(await store.ledger.totals({ sinceDay: '2000-01-01' }))).toEqual(sorted(totals));
  });

  it('gets the tables of a new one', async () => {
    const tablesOf = async (path: string): Promise<string[]> => {
      await openStore(path, { parts: edition.tables }).ready();
      const db = new (sqliteDriver())(path);
      const rows = db.prepare(
        `SELECT m.type || ' ' || m.name || ' ' || coalesce(c.name || ' ' || c.type, '') FROM sqlite_schema m
         LEFT JOIN pragma_table_info(m.name) c ON m.type = 'table' ORDER BY 1`,
      );
      const found = rows.pluck().all() as string[];
      db.close();
      return found;
    };
    expect(await tablesOf(earlierStore())).toEqual(await tablesOf(tempPath()));
  });

  it('loses the index of words, and its results are still found', async () => {
    const path = earlierStore();
    const db = new (sqliteDriver())(path);
    db.exec('UPDATE recall SET index_bytes = 700');
    const before = db.prepare('SELECT project, about FROM recall').all() as SearchedRow[];
    const meter = db.prepare("SELECT value FROM meter WHERE name = 'stored_bytes'").pluck().get() as number;
    db.close();
    expect(before.length).toBeGreaterThan(0);
    const store = openStore(path, { clock: manualClock(nowMs) });
    for (const { project, about } of before) {
      const query = { project, terms: termsOfQuery(about), files: [], limit: 50 };
      expect((await store.recall.find(query)).candidates.map((found) => found.about)).toContain(about);
    }
    expect((await store.stats()).bytes).toBe(meter - 700 * before.length);
  });

  it('has its conversations go on with the same bytes, shortened tools included', async () => {
    const upstream = await startUpstream((_request, res) => json(res, 200, { content: [], choices: [] }));
    const proxy = await startProxy(upstream, { dbPath: earlierStore(), clock: manualClock(nowMs) });
    for (const { path, headers, body, sent } of requests) {
      const { messages, ...more } = JSON.parse(body) as { messages: object[] };
      const goesOn = JSON.stringify({
        ...more,
        messages: [...messages, { role: 'assistant', content: 'Done.' }, { role: 'user', content: 'Thanks.' }],
      });
      for (const bytes of [body, goesOn]) {
        const init = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: bytes };
        expect((await fetch(`${proxy.url}${path}`, init)).status).toBe(200);
      }
      const [again = '', longer = ''] = upstream.requests.slice(-2).map((request) => request.body.toString());
      expect(again).toBe(sent);
      const before = JSON.parse(sent) as { messages: object[] };
      const after = JSON.parse(longer) as { messages: object[] };
      expect(after).toEqual({ ...before, messages: [...before.messages, ...after.messages.slice(-2)] });
    }
    expect(requests.some(({ sent }) => sent.includes('raison=description'))).toBe(true);
  });

  it.skipIf(!hasPostgres)('gets the tables of a new one in PostgreSQL', async () => {
    const tablesOf = async (url: string): Promise<string[]> => {
      const limits = { ttlMs: 1_000, maxBytes: 1_000_000, maxEvents: 10 };
      const store = openPostgresStore({ url, clock: { nowMs: Date.now }, parts: edition.tables, ...limits });
      await store.ready();
      expect(store.problem()).toBeNull();
      const rows = await store.sql.all<{ what: string }>(
        `SELECT table_name || ' ' || column_name || ' ' || data_type AS what FROM information_schema.columns
           WHERE table_schema = 'mcp_pruner'
         UNION ALL SELECT 'index ' || indexname FROM pg_indexes WHERE schemaname = 'mcp_pruner'
         UNION ALL SELECT 'trigger ' || tgname FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1`,
        [],
      );
      await store.close();
      return rows.map(({ what }) => what);
    };
    const earlier = await newDatabase();
    await runSql(earlier, `DROP SCHEMA IF EXISTS mcp_pruner CASCADE; ${recorded('postgres.sql').toString()}`);
    expect(await tablesOf(earlier)).toEqual(await tablesOf(await newDatabase()));
  });
});
