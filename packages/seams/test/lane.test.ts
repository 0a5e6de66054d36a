import { Reporter } from 'mcp-pruner/proxy/report/report.ts';
import { expect, it, vi } from 'vitest';
import type { Json } from '../../../bench/conformance/types.ts';
import { Random } from '../../../bench/fuzz/random.ts';
import { makeText } from '../../../bench/fuzz/texts.ts';
import { countedSql } from '../../../test/helpers/counted-sql.ts';
import { until } from '../../../test/helpers/until.ts';
import { openWorld, type SeamWorld } from './provider.ts';

const LOOK_UP = /FROM main.seam_compaction WHERE project = \S+ AND conversation = \S+\s+ORDER BY CASE/;

/** Requests with a result each; a short one, in which nothing is to be pruned, if none is given. */
async function results(world: SeamWorld, count: number, { calls = 1, result = 'ok' } = {}): Promise<void> {
  for (let i = 0; i < count; i++) {
    const last = world.messages.at(-1)?.content as Json[];
    const { id } = last.find(({ type }) => type === 'tool_use') as { id: string };
    await world.turn([{ type: 'tool_result', tool_use_id: id, content: `${result} ${i}` }], { calls });
    world.clock.now -= 10_000; // memory is trusted for a short time
  }
}

it('only requests with words of the user, and those of conversations with a block, ask the store for summaries', async () => {
  const world = await openWorld();
  const counts = countedSql(world.proxy.dbPath);
  const lookUps = (): number => [...counts.by].reduce((sum, [sql, times]) => sum + (LOOK_UP.test(sql) ? times : 0), 0);
  await world.turn('Fix the checkout of the shop, please.', { calls: 1 });
  const first = lookUps();
  expect(first).toBe(1);
  await results(world, 14);
  // some more: the conversation has to be remembered first, which a busy machine does late
  expect(lookUps() - first).toBeLessThanOrEqual(4);
  await world.turn('Stop. What is wrong?');
  const asked = lookUps();
  await world.turn('Now the invoices: why is the total wrong?', { calls: 1 });
  await world.result('made');
  expect(lookUps()).toBe(asked + 1);
  await results(world, 3);
  expect(lookUps()).toBe(asked + 4);
  expect([world.isSwapped, world.agent.breaks]).toEqual([true, []]);
});

it.each([
  ['took the lane', 'ok'],
  ['went the usual way', makeText(new Random(1), 120)],
])(
  'a summary is made by the weight of the last answer, however late requests are reported, if it %s',
  async (_way, result) => {
    const world = await openWorld();
    const reports: (() => void)[] = [];
    const { reportNow } = Reporter.prototype;
    const held = vi.spyOn(Reporter.prototype, 'reportNow').mockImplementation(function (this: Reporter, ...of) {
      reports.push(() => reportNow.apply(this, of));
    });
    world.agent.tokensOf = () => 15_000;
    await world.turn('Fix the checkout of the shop, please.', { calls: 1 });
    await results(world, 6);
    world.agent.tokensOf = () => 300_000;
    await results(world, 1, { calls: 0, result });
    await until(() => reports.length === 8);
    held.mockRestore();
    for (const report of reports.slice(0, -1)) report();
    await world.turn('Now the invoices: why is the total wrong?');
    await world.result('made');
    expect(world.agent.breaks).toEqual([]);
  },
);
