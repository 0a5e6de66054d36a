import { join } from 'node:path';
import { attribute, type Reading } from '@mcp-pruner/money/limits/attribution.ts';
import fc from 'fast-check';
import { edition } from 'mcp-pruner/edition.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { manualClock, TTL_MS } from '../../../test/helpers/rewriter.ts';
import { LimitFold } from '../src/fold.ts';
import { usedUpAtMs } from '../src/pace.ts';
import { addReadings } from '../src/readings.ts';
import { type FoldState, WindowFold } from '../src/window-fold.ts';

const START_MS = 1_795_000_000_000;
const RESETS_S = START_MS / 1000 + 604_800;

function reading(over: Partial<Reading>): Reading {
  return {
    ...{ account: 'a', provider: 'anthropic', plan: null, window: '7d', minutes: 10_080, resetsS: RESETS_S },
    ...{ used: 0, status: null, request: 'r', project: 'p', session: 's', conversation: 's', keyId: '', model: 'm' },
    ...{ startedMs: START_MS, endedMs: START_MS + 1_000, weight: 100, ...over },
  };
}

/** Overlapping requests of three sessions over a few hours, whose answers report a growing share. */
const readings = fc
  .array(
    fc.record({
      pauseMs: fc.integer({ min: 0, max: 400_000 }),
      lastsMs: fc.integer({ min: 0, max: 1_300_000 }),
      moved: fc.constantFrom(-5_000, 0, 0, 10_000, 30_000),
      session: fc.constantFrom('one', 'two', 'three'),
      project: fc.constantFrom('p', 'p', 'q', ''),
      weight: fc.integer({ min: 0, max: 900 }),
    }),
    { minLength: 250, maxLength: 400, size: 'max' },
  )
  .map((requests) => {
    let [endedMs, used] = [START_MS, 0];
    return requests.map(({ pauseMs, lastsMs, moved, ...of }): Reading => {
      endedMs += pauseMs;
      used = Math.max(0, used + moved);
      return reading({ ...of, used, endedMs, startedMs: endedMs - lastsMs });
    });
  });

describe('a window whose readings are added up as they arrive', () => {
  it('has the figures that all its readings together have', () => {
    fc.assert(
      fc.property(readings, fc.boolean(), (all, isLate) => {
        let fold = new WindowFold();
        // another process writes its readings after the next one, some minutes late
        const written = all.map((one, i) => ({ one, at: i + (isLate && i % 7 === 0 ? 1.5 : 0) }));
        const arriving = written.sort((a, b) => a.at - b.at).map(({ one }) => one);
        arriving.forEach((one, id) => {
          // a process ends and the next one goes on now and then
          if (id % 61 === 60) {
            const state = JSON.parse(JSON.stringify(fold.save())) as FoldState;
            const restored = WindowFold.restored(state, new Map(arriving.map((of, i) => [i, { ...of, id: i }])));
            if (restored === null) throw new Error('not restored');
            fold = restored;
          }
          fold.add({ ...one, id });
        });
        const sorted = arriving.toSorted((a, b) => a.endedMs - b.endedMs || a.used - b.used);
        const [whole] = attribute(sorted);
        if (whole === undefined) throw new Error('no window');
        const nowMs = (all.at(-1)?.endedMs ?? 0) + 1_000;
        for (const [session, project] of [
          ['one', 'p'],
          ['two', undefined],
        ] as const) {
          const shown = fold.view(session, project);
          const own = whole.requests.filter(
            ({ reading: of }) => of.session === session && of.project !== '' && (project ?? of.project) === of.project,
          );
          expect(shown.used).toBe(whole.used);
          expect(shown.session).toBe(own.reduce((sum, { used }) => sum + used, 0));
          const about = { resetsS: RESETS_S, minutes: 10_080 };
          const [folded, exact] = [
            usedUpAtMs({ ...shown, ...about }, nowMs),
            usedUpAtMs({ ...whole, ...about }, nowMs),
          ];
          expect(folded).toBe(exact);
        }
      }),
      { numRuns: 30, endOnFailure: true },
    );
  });
});

it('a status line reads only what was added since the last one, even of the process before it', async () => {
  const clock = manualClock();
  clock.now = START_MS + 6 * 86_400_000;
  const path = join(tempFolder(), 'store.db');
  makeStore(path, edition.tables);
  const store = openSqliteStore({ path, clock, ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 1_000, parts: edition.tables });
  afterwards(() => store.close());
  let rows = 0;
  const sql = {
    all: async <Row>(text: string, values?: readonly unknown[]): Promise<Row[]> => {
      const found = await store.sql.all<Row>(text, values);
      rows += found.length;
      return found;
    },
  };
  const add = (count: number, from: number) =>
    store.sql.write(() =>
      addReadings(
        Array.from({ length: count }, (_, i) => {
          const endedMs = START_MS + (from + i) * 20_000;
          return reading({ used: (from + i) * 30, endedMs, startedMs: endedMs - 15_000, session: `s${i % 9}` });
        }),
      ),
    );
  const replaceNote = (name: string, text: string) => store.replaceNote(name, text);
  const newFold = () => new LimitFold({ sql, clock, replaceNote });
  const fold = newFold();
  await add(20_000, 0);
  await fold.refresh();
  expect(rows).toBeGreaterThan(20_000);
  expect(fold.open()).toMatchObject([{ account: 'a', window: '7d', resetsS: RESETS_S }]);
  rows = 0;
  await add(3, 20_000);
  await Promise.all([fold.refresh(), fold.refresh()]);
  expect(rows).toBeLessThanOrEqual(203);
  const [window] = fold.open();
  const shown = window?.fold.view('s1', 'p');
  expect(shown?.used).toBe(20_002 * 30);
  expect(shown?.movements.length).toBeLessThan(1_600); // one a minute of the last day
  // the next process reads what was added since the sums were stored, and the readings of the last hour
  await fold.store();
  await add(3, 20_003);
  rows = 0;
  const next = newFold();
  await next.refresh();
  expect(rows).toBeLessThan(900);
  await fold.refresh();
  const [of] = next.open();
  for (const [session, project] of [
    ['s1', 'p'],
    ['s2', undefined],
    ['none', 'p'],
  ] as const)
    expect(of?.fold.view(session, project)).toEqual(window?.fold.view(session, project));
  expect(of?.fold.view('s1', 'p').used).toBe(20_005 * 30);
  // names that an erasure takes from the readings are not in the sums
  const [note] = await store.sql.all<{ data: string }>("SELECT data FROM main.ledger_state WHERE name LIKE '%limits'");
  expect(note?.data).toContain('"shares"');
  for (const name of ['"s1"', '"p"', '"r"']) expect(note?.data).not.toContain(name);
  clock.now = RESETS_S * 1000 + 200_000;
  await fold.refresh();
  expect(fold.open()).toEqual([]);
});
