import { Prices } from '@mcp-pruner/money/prices.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { expect, it } from 'vitest';
import type { SeamsReport } from '../../../src/core/ports/seams-report.ts';
import { sqliteDriver } from '../../../src/store/sqlite/driver.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { readMonth } from '../src/month.ts';
import { readConversation } from '../src/shown.ts';
import { openWorld, type SeamWorld } from './provider.ts';

const prices = new Prices([
  {
    path: 'p',
    text: `[[price]]\nmodel = "claude-opus-5"\nprovider = "p"\ninput = 5\ncache_write_5m = 6.25\ncache_read = 0.5\noutput = 25\nday = "2026-11-01"\nsource = "made up"\n`,
  },
]);

/** The store of a proxy that has stopped. */
function storeOf({ proxy, clock }: SeamWorld) {
  const kept = { ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1_000 };
  const store = openSqliteStore({ path: proxy.dbPath, clock, ...kept, parts: edition.tables });
  afterwards(() => store.close());
  return store;
}

async function withSummary(): Promise<SeamWorld> {
  const world = await openWorld();
  await world.toSummary();
  for (let i = 0; i < 4; i++) await world.turn(`Go on, part ${i}.`);
  await world.proxy.stop();
  return world;
}

it('a conversation lists each summary with its price, what it saved, and when it had paid back, to viewers of its project', async () => {
  const world = await withSummary();
  const store = storeOf(world);
  const [{ conversation = '' } = {}] = await store.sql.all<{ conversation: string }>(
    "SELECT shown AS conversation FROM main.seam_compaction WHERE state <> 'failed'",
  );
  const shown = (nowMs: number, projects?: readonly string[]) =>
    readConversation(store, prices, { nowMs, projects, conversation });
  const { summaries } = await shown(world.clock.now);
  // 12 tokens uncached, 190,000 from the cache, 900 written
  const dollars = expect.closeTo((12 * 5 + 190_000 * 0.5 + 900 * 25) / 1e6, 6);
  expect(summaries).toMatchObject([{ outcome: 'in use', dollars, tokens: 180_010, after: 2, isOver: false }]);
  const [{ replaced = 0, saved = 0 } = {}] = summaries;
  expect(saved).toBeCloseTo((replaced * 0.5 * 4) / 1e6, 6);
  expect((await shown(world.clock.now, ['default'])).summaries).toEqual(summaries);
  expect((await shown(world.clock.now, ['other'])).summaries).toEqual([]);
  // one that never paid back
  await store.sql.write(function* () {
    yield { kind: 'change', sql: 'UPDATE main.seam_compaction SET dollars = 90', values: [] };
  });
  expect((await shown(world.clock.now + 3_600_000)).summaries).toMatchObject([{ after: null, isOver: true }]);
});

it('the finished work of a month is that of the projects of the viewer', async () => {
  const world = await withSummary();
  const store = storeOf(world);
  const month = (projects?: readonly string[]) => readMonth(store, prices, world.clock.now, projects);
  const all = await month();
  expect(all.finished).toBeGreaterThan(0);
  expect(all.dollars).toBeGreaterThan(all.finished);
  expect(all.compactions.made).toBe(1);
  expect(await month(['default', 'mine'])).toEqual(all);
  const none = await month(['mine']);
  expect([none.finished, none.dollars, none.compactions.made]).toEqual([0, 0, 0]);
  expect(await month([])).toEqual(none);
});

it('the report compares conversations that are long enough with those of the control group', async () => {
  const world = await withSummary();
  const given = { env: { MCP_PRUNER_DB_PATH: world.proxy.dbPath, MCP_PRUNER_SEAMS: 'on' }, clock: world.clock };
  const holdout = async () => (JSON.parse((await run(['report', '--json'], given)).out) as SeamsReport).seams.holdout;
  expect(await holdout()).toBeNull();
  const store = new (sqliteDriver())(world.proxy.dbPath);
  // the same conversation in the control group: twice as dear, and without a summary
  store.exec(`CREATE TEMP TABLE control AS SELECT * FROM ledger_turn
        WHERE conversation = (SELECT shown FROM seam_compaction WHERE state <> 'failed');
      UPDATE control SET id = id + 10000, request_id = 'c' || request_id, conversation = 'control', arm = 'control',
        dollars = 2 * dollars;
      INSERT INTO ledger_turn SELECT * FROM control`);
  const price = Number(store.prepare("SELECT dollars FROM seam_compaction WHERE state <> 'failed'").pluck().get());
  store.close();
  const found = await holdout();
  const { control, others } = found ?? {};
  expect(control).toMatchObject({ conversations: 1, compactions: 0 });
  // seven other conversations of this size ended before
  expect(others?.compactions).toBe(1);
  expect(others?.conversations).toBeGreaterThanOrEqual(1);
  expect(others?.usd_per_request).toBeCloseTo((others?.usd ?? 0) / (others?.requests ?? 1), 9);
  const again = new (sqliteDriver())(world.proxy.dbPath, { readonly: true });
  const dollarsOf = (arm: string) =>
    Number(
      again
        .prepare(
          `SELECT sum(dollars) FROM ledger_turn t WHERE arm = ? AND id >= (SELECT min(id) FROM ledger_turn f
              WHERE f.conversation = t.conversation AND fresh + write5m + write1h + read >= 120000)`,
        )
        .pluck()
        .get(arm),
    );
  expect(control?.usd).toBeCloseTo(dollarsOf('control'), 9);
  expect(others?.usd).toBeCloseTo(dollarsOf('pruned') + price, 9);
  again.close();
  const { out } = await run(['report'], given);
  expect(out).toMatch(
    /Long enough for a summary: control group 1 conversation, \$[\d.]+ a request; others \d+ conversations?, \$[\d.]+ a request, with 1 summary\n/,
  );
});
