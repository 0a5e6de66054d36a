import { expect, it } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import { countedSql } from '../../../test/helpers/counted-sql.ts';
import { openWorld, type SeamWorld } from './provider.ts';

const ROUND = 60_000;
const LOOK_UP = /FROM main.seam_compaction WHERE project = \S+ AND conversation = \S+ ORDER BY id DESC/;

/** Requests with a short result each, in which nothing is to be pruned. */
async function shortResults(world: SeamWorld, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const last = world.messages.at(-1)?.content as Json[];
    const { id } = last.find(({ type }) => type === 'tool_use') as { id: string };
    await world.turn([{ type: 'tool_result', tool_use_id: id, content: `ok ${i}` }], { calls: 1 });
    world.clock.now -= 10_000; // memory is trusted for a short time
  }
}

it(
  'only requests with words of the user, and those of conversations with a block, ask the store for summaries',
  async () => {
    const world = await openWorld();
    const counts = countedSql();
    const lookUps = (): number =>
      [...counts.by].reduce((sum, [sql, times]) => sum + (LOOK_UP.test(sql) ? times : 0), 0);
    await world.turn('Fix the checkout of the shop, please.', { calls: 1 });
    const first = lookUps();
    expect(first).toBe(1);
    await shortResults(world, 14);
    // some more: the conversation has to be remembered first, which a busy machine does late
    expect(lookUps() - first).toBeLessThanOrEqual(4);
    await world.turn('Stop. What is wrong?');
    const asked = lookUps();
    await world.turn('Now the invoices: why is the total wrong?', { calls: 1 });
    await world.result('made');
    expect(lookUps()).toBe(asked + 1);
    await shortResults(world, 3);
    expect(lookUps()).toBe(asked + 4);
    expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
  },
  ROUND,
);
