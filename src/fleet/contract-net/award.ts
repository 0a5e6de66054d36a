/** An offer to do a task. */
export interface Bid {
  readonly agentId: string;
  /** 0 or more. */
  readonly cost: number;
  readonly kind: 'manual' | 'heuristic';
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** What a bidder has beside its bid. */
export interface Bidder {
  /** Contracts that it won and has not completed. */
  readonly openAwards: number;
  /** Since when it is there, epoch milliseconds; `null` when nobody knows. */
  readonly since: number | null;
}

export interface Heuristics {
  readonly preferAgents: readonly string[];
  /** Taken off the cost of an agent. */
  readonly agentBias: Readonly<Record<string, number>>;
  /** Added to the cost for each open award. */
  readonly busyPenalty: number;
  /** Taken off the cost of preferred agents. */
  readonly preferenceBonus: number;
}

export interface RankedBid extends Bid {
  readonly effectiveCost: number;
  readonly openAwards: number;
}

/** What a child asks for a task by itself: its base cost over its reliability, as its metadata say, else 100. */
export function heuristicCost(metadata: Readonly<Record<string, unknown>>): number {
  const net = metadata.contract_net;
  const facts = typeof net === 'object' && net !== null ? (net as Record<string, unknown>) : {};
  const base = numberOr(facts.base_cost, 100, (cost) => cost >= 0);
  return base / numberOr(facts.reliability, 1, (reliability) => reliability > 0 && reliability <= 1);
}

/** All bids with what they really cost, the one that wins first; ties: fewer open awards, there for longer, by id. */
export function rankBids(
  bids: readonly Bid[],
  heuristics: Heuristics,
  bidder: (agentId: string) => Bidder,
): RankedBid[] {
  const preferred = new Set(heuristics.preferAgents);
  return bids
    .map((bid) => {
      const { openAwards, since } = bidder(bid.agentId);
      const bonus = preferred.has(bid.agentId) ? heuristics.preferenceBonus : 0;
      const bias = Object.hasOwn(heuristics.agentBias, bid.agentId) ? (heuristics.agentBias[bid.agentId] ?? 0) : 0;
      const effectiveCost = bid.cost + heuristics.busyPenalty * openAwards - bonus - bias;
      return { bid: { ...bid, effectiveCost, openAwards }, since: since ?? Number.POSITIVE_INFINITY };
    })
    .sort(
      (a, b) =>
        a.bid.effectiveCost - b.bid.effectiveCost ||
        a.bid.openAwards - b.bid.openAwards ||
        earlier(a.since, b.since) ||
        (a.bid.agentId < b.bid.agentId ? -1 : 1),
    )
    .map(({ bid }) => bid);
}

function earlier(a: number, b: number): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

function numberOr(value: unknown, fallback: number, fits: (value: number) => boolean): number {
  return typeof value === 'number' && Number.isFinite(value) && fits(value) ? value : fallback;
}
