import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Heuristics, heuristicCost, rankBids } from '../src/contract-net/award.ts';

const plain: Heuristics = { prefer_agents: [], agent_bias: {}, busy_penalty: 1, preference_bonus: 1 };
const bid = (agentId: string, cost: number) => ({ agentId, cost, kind: 'manual' as const, metadata: {} });
const nobodyBusy = () => ({ openAwards: 0, since: null });

describe('the award of a contract', () => {
  it('goes to the cheapest child, whatever the order of the bids', () => {
    const bids = fc.uniqueArray(
      fc.record({ agentId: fc.constantFrom('a', 'b', 'c', 'd'), cost: fc.integer({ min: 0, max: 5 }) }),
      { minLength: 1, selector: ({ agentId }) => agentId },
    );
    const busy = fc.record({ a: fc.nat(2), b: fc.nat(2), c: fc.nat(2), d: fc.nat(2) });
    fc.assert(
      fc.property(bids, busy, (found, open) => {
        const all = found.map(({ agentId, cost }) => bid(agentId, cost));
        const bidder = (agentId: string) => ({ openAwards: open[agentId as keyof typeof open], since: 0 });
        const [winner] = rankBids(all, plain, bidder);
        const least = Math.min(...all.map(({ agentId, cost }) => cost + bidder(agentId).openAwards));
        expect(winner?.effectiveCost).toBe(least);
        expect(rankBids([...all].reverse(), plain, bidder)[0]?.agentId).toBe(winner?.agentId);
      }),
    );
  });

  it('breaks ties by open awards, then by age, then by id', () => {
    const bids = [bid('c', 10), bid('b', 10), bid('a', 10)];
    expect(rankBids(bids, plain, nobodyBusy).map(({ agentId }) => agentId)).toEqual(['a', 'b', 'c']);
    const since = (agentId: string) => ({ openAwards: 0, since: agentId === 'c' ? 1 : 2 });
    expect(rankBids(bids, plain, since)[0]?.agentId).toBe('c');
    const open = (agentId: string) => ({ openAwards: agentId === 'a' ? 1 : 0, since: null });
    expect(rankBids([bid('a', 9), bid('b', 10)], plain, open)[0]?.agentId).toBe('b');
  });

  it('subtracts preferences from the cost of a bid', () => {
    const heuristics = { ...plain, prefer_agents: ['b'], preference_bonus: 3, agent_bias: { a: 1 } };
    const [first, second] = rankBids([bid('a', 10), bid('b', 10)], heuristics, nobodyBusy);
    expect([first?.agentId, first?.effectiveCost, second?.effectiveCost]).toEqual(['b', 7, 9]);
  });

  it("uses a child's price from its metadata, or 100 by default", () => {
    expect(heuristicCost({})).toBe(100);
    expect(heuristicCost({ contract_net: { base_cost: 40, reliability: 0.5 } })).toBe(80);
    expect(heuristicCost({ contract_net: { base_cost: -1, reliability: 0 } })).toBe(100);
  });
});
