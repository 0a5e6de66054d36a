import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { describe, expect, it } from 'vitest';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { Agent } from '../../context/test/agent.ts';
import type { ConversationPage, TimelineShown } from '../src/shapes.ts';
import { alignedRequests } from '../src/ui/parts/align.ts';

describe('texts and the requests that sent them', () => {
  it('belong together if requests follow each other slowly', () => {
    expect(alignedRequests([0, 60_000, 120_000], [2_000, 63_000, 121_000])).toEqual([0, 1, 2]);
  });

  it('belong together in a burst whose bills are booked late', () => {
    const groups = [0, 10, 20, 30, 40];
    expect(alignedRequests(groups, [25, 40, 45, 55, 66])).toEqual([0, 1, 2, 3, 4]);
  });

  it('skip requests without new texts', () => {
    expect(alignedRequests([0, 120_000], [2_000, 63_000, 121_000])).toEqual([0, 2]);
  });

  it('belong to the retry if their own request failed and was not billed', () => {
    expect(alignedRequests([0, 10_000], [2_000, 18_000])).toEqual([0, 1]);
    expect(alignedRequests([0, 10_000, 15_000], [2_000, 18_000])).toEqual([0, 1, 1]);
  });

  it('are in order, one index for each group, within the requests', () => {
    const times = (length: number, step: number) => Array.from({ length }, (_, i) => i * step + ((i * 7919) % 13));
    for (const [groups, requests] of [
      [9, 5],
      [5, 9],
      [1, 1],
      [0, 4],
      [40, 40],
    ] as const) {
      const found = alignedRequests(times(groups, 11), times(requests, 17));
      expect(found).toHaveLength(groups);
      expect(found).toEqual(found.toSorted((a, b) => a - b));
      expect(found.every((one) => one >= 0 && one < requests)).toBe(true);
    }
    expect(alignedRequests([1, 2], [])).toEqual([-1, -1]);
  });

  it('are one group for each request of an agent that was refused and tried again', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const agent = new Agent(proxy, upstream);
    const answer = upstream.answer;
    for (const [i, refusals] of [0, 2, 1, 0].entries()) {
      agent.tool('bash', { command: `npm run step-${i}` }, serverLog(200 + i, i));
      upstream.answer = (_, res) => json(res, 429, { error: { message: 'slow down' } });
      for (let k = 0; k < refusals; k++) await expect(agent.send()).rejects.toThrow('429');
      upstream.answer = answer;
      await agent.send();
    }
    const read = async (path: string) => (await fetch(`${proxy.url}/page/api/${path}`)).json() as Promise<unknown>;
    const { conversations } = (await read('conversations')) as { readonly conversations: readonly { name: string }[] };
    const name = conversations[0]?.name ?? '';
    const { turns } = await until(async () => {
      const shown = (await read(`timeline?name=${name}`)) as TimelineShown;
      return shown.turns.length === 4 && shown;
    });
    const { texts } = (await read(`conversation?name=${name}`)) as ConversationPage;
    const results = texts.filter(({ tool }) => tool === 'bash');
    expect(results).toHaveLength(4);
    const groups = groupBy(texts, ({ turn }) => turn);
    const found = alignedRequests(
      [...groups.values()].map(([first]) => first?.atMs ?? 0),
      turns.map(({ atMs }) => atMs),
    );
    const requestOf = new Map([...groups.keys()].map((turn, i) => [turn, found[i]]));
    // each result stands at the request that sent it, and no two groups have the same name
    expect(results.map(({ turn }) => requestOf.get(turn))).toEqual([0, 1, 2, 3]);
    expect(new Set(found).size).toBe(found.length);
  });
});
