import { compare } from '../graph/model.ts';
export interface Bid {
  readonly agentId: string;
  /** Non-negative. */
  readonly cost: number;
  readonly kind: 'manual' | 'heuristic';
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface Bidder {
  /** Number of contracts won but not yet completed. */
  readonly openAwards: number;
  /** Start time of the bidder in epoch milliseconds; `null` if unknown. */
  readonly since: number | null;
}

export interface Heuristics {
  readonly prefer_agents: readonly string[];
  /** Subtracted from an agent's cost. */
  readonly agent_bias: Readonly<Record<string, number>>;
  /** Added to the cost for each open award. */
  readonly busy_penalty: number;
  /** Subtracted from the cost of preferred agents. */
  readonly preference_bonus: number;
}

interface RankedBid extends Bid {
  readonly effectiveCost: number;
  readonly openAwards: number;
}

/** A child's default bid: base cost divided by reliability, both from its metadata; default 100. */
export function heuristicCost(metadata: Readonly<Record<string, unknown>>): number {
  const net = metadata.contract_net;
  const facts = typeof net === 'object' && net !== null ? (net as Record<string, unknown>) : {};
  const base = numberOr(facts.base_cost, 100, (cost) => cost >= 0);
  return base / numberOr(facts.reliability, 1, (reliability) => reliability > 0 && reliability <= 1);
}

/** Bids with effective costs, winner first. Ties are broken by fewer open awards, then age, then id. */
export function rankBids(
  bids: readonly Bid[],
  heuristics: Heuristics,
  bidder: (agentId: string) => Bidder,
): RankedBid[] {
  const preferred = new Set(heuristics.prefer_agents);
  return bids
    .map((bid) => {
      const { openAwards, since } = bidder(bid.agentId);
      const bonus = preferred.has(bid.agentId) ? heuristics.preference_bonus : 0;
      const bias = Object.hasOwn(heuristics.agent_bias, bid.agentId) ? (heuristics.agent_bias[bid.agentId] ?? 0) : 0;
      const effectiveCost = bid.cost + heuristics.busy_penalty * openAwards - bonus - bias;
      return { bid: { ...bid, effectiveCost, openAwards }, since: since ?? Number.POSITIVE_INFINITY };
    })
    .sort(
      (a, b) =>
        a.bid.effectiveCost - b.bid.effectiveCost ||
        a.bid.openAwards - b.bid.openAwards ||
        compare(a.since, b.since) ||
        compare(a.bid.agentId, b.bid.agentId),
    )
    .map(({ bid }) => bid);
}

function numberOr(value: unknown, fallback: number, fits: (value: number) => boolean): number {
  return typeof value === 'number' && Number.isFinite(value) && fits(value) ? value : fallback;
}
