import { Ownership } from 'mcp-pruner/core/ownership.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { describe, expect, it } from 'vitest';
import { afterwards } from '../../../test/helpers/afterwards.ts';
import { chatBody, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { hasPostgres, sharedDatabase } from '../../../test/helpers/postgres.ts';
import { manualClock, openRewriter, openStore, TTL_MS } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { openPostgresStore, type PostgresStore } from '../src/postgres/store.ts';

const scope = (project: string) => ({ project, task: '', requestId: 'r' });
const first = oneResult(serverLog(300, 1));

function owning(store: StoreHandle): Ownership {
  const projects = store.projects();
  return new Ownership(() => projects, store);
}

describe('the ownership of an original', () => {
  it.skipIf(!hasPostgres)(
    'adds no round trip to a turn, except to the first of a conversation that another proxy began',
    async () => {
      const url = await sharedDatabase()();
      const open = async (): Promise<PostgresStore> => {
        const store = openPostgresStore({ url, clock: manualClock(), ttlMs: TTL_MS, maxBytes: 1e9, maxEvents: 100 });
        afterwards(() => store.close());
        await store.ready();
        return store;
      };
      const [one, two] = [await open(), await open()];
      const clock = manualClock();
      const [here, there] = [one, two].map((store) => openRewriter({ store, clock, owners: owning(store) }));
      const cost = async (store: PostgresStore, at: typeof here, messages: typeof first): Promise<number> => {
        const before = store.roundTrips;
        await at?.rewrite(chatBody(messages), scope('web'));
        return store.roundTrips - before;
      };
      const costs: number[][] = [];
      for (const seed of [1, 3, 5]) {
        const begin = oneResult(serverLog(300, seed));
        const longer = [...begin, ...toolTurn('call_2', 'bash', { command: 'again' }, serverLog(300, seed + 1))];
        const own = [await cost(one, here, begin), await cost(one, here, begin), await cost(one, here, longer)];
        costs.push([...own, await cost(two, there, longer), await cost(two, there, longer)]);
      }
      // a look at what others did may fall into any of them, so that the least counts. Look up and commit, as without
      // keys; the other proxy looks up, and notes whose they are
      const least = [0, 1, 2, 3, 4].map((i) => Math.min(...costs.map((of) => of[i] ?? 0)));
      expect(least).toEqual([2, 0, 2, expect.toSatisfy((trips: number) => trips <= 3), 0]);
    },
  );

  it("prevents a project from extending the life of another project's original by naming it", async () => {
    const clock = manualClock();
    const store = openStore(':memory:', clock);
    const owners = owning(store);
    const rewriter = openRewriter({ store, clock, owners });
    const { outcomes } = await rewriter.rewrite(chatBody(first), scope('web'));
    const pruneId = outcomes[0]?.pruneId ?? '';
    const named = chatBody([{ role: 'user', content: `⟦PRUNÉ: prune_id=${pruneId} lignes 3-9 (7) raison=x⟧` }]);
    const until = async () => (await store.findPrune(pruneId))?.expiresAtMs ?? 0;
    const atFirst = await until();
    clock.now += TTL_MS / 2;
    await rewriter.rewrite(named, scope('api'));
    expect(await until()).toBe(atFirst);
    await rewriter.rewrite(named, scope('web'));
    expect(await until()).toBeGreaterThan(atFirst);
  });

  it('is forgotten with a deleted prune, and recorded again when it returns', async () => {
    const clock = manualClock();
    const store = openStore(':memory:', clock);
    const owners = owning(store);
    const projects = await store.projects();
    const rewriter = openRewriter({ store, clock, owners });
    const { outcomes } = await rewriter.rewrite(chatBody(first), scope('web'));
    const pruneId = outcomes[0]?.pruneId ?? '';
    clock.now += 3 * TTL_MS;
    while (await store.sweep());
    expect((await projects.owned(['web'], [pruneId])).size).toBe(0);
    await openRewriter({ store, clock, owners }).rewrite(chatBody(first), scope('web'));
    expect((await projects.owned(['web'], [pruneId])).size).toBe(1);
  });
});
