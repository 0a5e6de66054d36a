import { FleetError } from '../errors.ts';
import { type Caller, type ContractRecord, correlationOf, eventOf, type Hints } from '../ports.ts';
import type { ContractStore } from '../tables/contracts.ts';
import { type Bid, type Heuristics, heuristicCost, rankBids } from './award.ts';

interface Announcement {
  readonly task_id: string;
  readonly payload?: unknown;
  readonly tags: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly deadline_ms?: number | undefined;
  readonly auto_bid: boolean;
  readonly heuristics?:
    | {
        readonly prefer_agents?: readonly string[] | undefined;
        readonly agent_bias?: Readonly<Record<string, number>> | undefined;
        readonly busy_penalty?: number | undefined;
        readonly preference_bonus?: number | undefined;
      }
    | undefined;
  readonly manual_bids?:
    | readonly {
        readonly agent_id: string;
        readonly cost: number;
        readonly metadata?: Readonly<Record<string, unknown>> | undefined;
      }[]
    | undefined;
}

export interface Candidate {
  readonly childId: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly sinceMs: number | null;
}

interface ContractsOptions {
  readonly store: ContractStore;
  readonly newId: () => string;
  readonly candidates: () => Promise<readonly Candidate[]>;
}

export class Contracts {
  readonly #options: ContractsOptions;

  constructor(options: ContractsOptions) {
    this.#options = options;
  }

  async announce(announcement: Announcement, hints: Hints, caller: Caller) {
    const { store, newId, candidates } = this.#options;
    const present = announcement.auto_bid ? await candidates() : [];
    const bids = bidsOf(announcement, present);
    if (bids.length === 0) throw new FleetError('E-CNP-NO-BIDS', { task_id: announcement.task_id });
    const callId = newId();
    const heuristics = heuristicsOf(announcement);
    const since = new Map(present.map(({ childId, sinceMs }) => [childId, sinceMs]));
    const about = correlationOf(hints, caller);
    const record = await store.announce((open, nowMs) => {
      const ranked = rankBids(bids, heuristics, (agentId) => ({
        openAwards: open.get(agentId) ?? 0,
        since: since.get(agentId) ?? null,
      }));
      const [winner] = ranked;
      const agentId = winner?.agentId ?? '';
      const body = {
        ...{
          call_id: callId,
          task_id: announcement.task_id,
          payload: announcement.payload ?? null,
          metadata: announcement.metadata ?? {},
        },
        ...{
          tags: announcement.tags,
          status: 'awarded',
          announced_at: nowMs,
          deadline_ms: announcement.deadline_ms ?? null,
        },
        ...{ awarded_agent_id: agentId, awarded_cost: winner?.cost, awarded_effective_cost: winner?.effectiveCost },
        bids: ranked.map(({ agentId: agent_id, cost, effectiveCost, openAwards, kind, metadata }) => ({
          ...{ agent_id, cost, effective_cost: effectiveCost, open_awards: openAwards, kind, metadata },
        })),
        heuristics: {
          prefer_agents: heuristics.preferAgents,
          agent_bias: heuristics.agentBias,
          busy_penalty: heuristics.busyPenalty,
          preference_bonus: heuristics.preferenceBonus,
        },
      };
      const made: ContractRecord = {
        ...{ callId, taskId: announcement.task_id, status: 'awarded', announcedMs: nowMs },
        ...{ deadlineMs: announcement.deadline_ms ?? null, completedMs: null, agentId, body },
      };
      const payload = { call_id: callId, task_id: announcement.task_id };
      return {
        record: made,
        events: [
          eventOf('cnp_announced', about, { ...payload, bids: ranked.length }),
          eventOf('cnp_awarded', about, { ...payload, agent_id: agentId, effective_cost: winner?.effectiveCost }),
        ],
      };
    });
    return record.body;
  }

  async complete(callId: string, caller: Caller) {
    const record = await this.#options.store.complete(callId, ({ taskId, agentId }) => [
      eventOf('cnp_completed', correlationOf({}, caller), { call_id: callId, task_id: taskId, agent_id: agentId }),
    ]);
    if (record === null) throw new FleetError('E-CNP-NOT-FOUND', { call_id: callId });
    const { taskId, status, agentId, completedMs } = record;
    return { call_id: callId, task_id: taskId, status, awarded_agent_id: agentId, completed_at: completedMs };
  }
}

/** Collects bids; an explicit bid replaces a child's default bid. */
function bidsOf({ manual_bids = [] }: Announcement, present: readonly Candidate[]): Bid[] {
  const bids = new Map<string, Bid>();
  for (const { childId, metadata } of present) {
    bids.set(childId, { agentId: childId, cost: heuristicCost(metadata), kind: 'heuristic', metadata: {} });
  }
  for (const { agent_id, cost, metadata = {} } of manual_bids) {
    bids.set(agent_id, { agentId: agent_id, cost, kind: 'manual', metadata });
  }
  return [...bids.values()];
}

function heuristicsOf({ heuristics = {} }: Announcement): Heuristics {
  const { prefer_agents = [], agent_bias = {}, busy_penalty = 1, preference_bonus = 1 } = heuristics;
  return {
    preferAgents: prefer_agents,
    agentBias: agent_bias,
    busyPenalty: busy_penalty,
    preferenceBonus: preference_bonus,
  };
}
