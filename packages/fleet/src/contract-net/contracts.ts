import { z } from 'zod';
import { FleetError } from '../errors.ts';
import { id, ttl } from '../graph/input.ts';
import { type Caller, type ContractRecord, correlationOf, eventOf, type Hints } from '../ports.ts';
import type { ContractStore } from '../tables/contracts.ts';
import { type Bid, type Heuristics, heuristicCost, rankBids } from './award.ts';

/** Input of an announcement. */
export const announcementFields = {
  task_id: id,
  payload: z.unknown().optional(),
  tags: z.array(z.string().min(1).max(200)).max(32).default([]),
  metadata: z.record(z.string().max(200), z.unknown()).optional(),
  deadline_ms: ttl,
  auto_bid: z.boolean().default(true),
  heuristics: z
    .strictObject({
      prefer_agents: z.array(id).max(128).optional(),
      agent_bias: z.record(z.string().max(200), z.number()).optional(),
      busy_penalty: z.number().min(0).max(100).optional(),
      preference_bonus: z.number().min(0).max(100).optional(),
    })
    .optional(),
  manual_bids: z
    .array(
      z.strictObject({
        agent_id: id,
        cost: z.number().min(0),
        metadata: z.record(z.string().max(200), z.unknown()).optional(),
      }),
    )
    .max(128)
    .optional(),
};

type Announcement = z.infer<z.ZodObject<typeof announcementFields>>;

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
    const { task_id, payload = null, metadata = {}, tags, deadline_ms = null } = announcement;
    const present = announcement.auto_bid ? await candidates() : [];
    const bids = bidsOf(announcement, present);
    if (bids.length === 0) throw new FleetError('E-CNP-NO-BIDS', { task_id });
    const callId = newId();
    const {
      prefer_agents = [],
      agent_bias = {},
      busy_penalty = 1,
      preference_bonus = 1,
    } = announcement.heuristics ?? {};
    const heuristics: Heuristics = { prefer_agents, agent_bias, busy_penalty, preference_bonus };
    const since = new Map(present.map(({ childId, sinceMs }) => [childId, sinceMs]));
    const correlation = correlationOf(hints, caller);
    const record = await store.announce((open, nowMs) => {
      const ranked = rankBids(bids, heuristics, (agentId) => ({
        openAwards: open.get(agentId) ?? 0,
        since: since.get(agentId) ?? null,
      }));
      const [winner] = ranked;
      const agentId = winner?.agentId ?? '';
      const body = {
        call_id: callId,
        task_id,
        payload,
        metadata,
        tags,
        status: 'awarded',
        announced_at: nowMs,
        deadline_ms,
        awarded_agent_id: agentId,
        awarded_cost: winner?.cost,
        awarded_effective_cost: winner?.effectiveCost,
        bids: ranked.map(({ agentId: agent_id, cost, effectiveCost, openAwards, kind, metadata }) => ({
          ...{ agent_id, cost, effective_cost: effectiveCost, open_awards: openAwards, kind, metadata },
        })),
        heuristics,
      };
      const made: ContractRecord = {
        ...{ callId, taskId: task_id, status: 'awarded', announcedMs: nowMs },
        ...{ deadlineMs: deadline_ms, completedMs: null, agentId, body },
      };
      const about = { call_id: callId, task_id };
      return {
        record: made,
        events: [
          eventOf('cnp_announced', correlation, { ...about, bids: ranked.length }),
          eventOf('cnp_awarded', correlation, { ...about, agent_id: agentId, effective_cost: winner?.effectiveCost }),
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
