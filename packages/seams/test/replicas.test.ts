import { afterEach, describe, expect, it, vi } from 'vitest';
import { hasPostgres, newDatabase } from '../../../test/helpers/postgres.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { CompactionBook } from '../src/book.ts';
import { openWorld, withHost } from './provider.ts';

const PLACES: [string, boolean, () => Promise<Record<string, string>>][] = [
  ['a file', true, async () => ({})],
  ['a database', hasPostgres, async () => ({ MCP_PRUNER_DATABASE_URL: await newDatabase() })],
];

afterEach(() => {
  vi.restoreAllMocks();
});

/** Counts look-ups of older compactions, which decide whether a first block waits until every process may know it. */
function olderLookUps(): () => number {
  const hasAny = vi.spyOn(CompactionBook.prototype, 'hasAny');
  return () => hasAny.mock.calls.filter(([beforeMs]) => beforeMs !== undefined).length;
}

describe.each(PLACES)('a process alone on %s', (_, runs, place) => {
  it.runIf(runs)('waits for no other process with the first block of all', async () => {
    const world = await openWorld({ env: await place(), isFirst: true });
    const older = olderLookUps();
    await world.toSummary();
    await world.turn('Show the query.');
    expect([older(), world.isSwapped, world.agent.breaks]).toEqual([0, true, []]);
  });
});

describe.each(PLACES)('two processes on %s', (_, runs, place) => {
  it.runIf(runs)('one that only measures knows the first block before the other uses it', async () => {
    const env = await place();
    const world = await openWorld({ env, isFirst: true });
    const older = olderLookUps();
    const { upstream, clock } = world;
    const own = withHost({ ...env, MCP_PRUNER_SEAMS: 'measure' }, new URL(upstream.url).host);
    const other = await startProxy(upstream, { clock, env: own, dbPath: world.proxy.dbPath });
    const first = world.proxy;
    const through = async (proxy: typeof first, words: string): Promise<boolean> => {
      world.proxy = proxy;
      await world.turn(words);
      return world.isSwapped;
    };
    await world.task('Fix the checkout of the shop, please.', 8);
    expect(await through(other, 'Is it the cart?')).toBe(false);
    expect(await through(first, 'Now the invoices: why is the total wrong?')).toBe(false);
    await until(() => world.asked.length > 0);
    await world.result('made');
    expect(older()).toBeGreaterThan(0); // it is not alone
    // no pause: it has looked since the block was asked for
    expect(await through(other, 'Show the query.')).toBe(true);
    expect(await through(first, 'And the index?')).toBe(true);
    expect(world.agent.breaks).toEqual([]);
    await other.stop();
  });
});
