import { all, change, record, type Steps, type Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { ContractRecord, FleetEvent } from '../ports.ts';
import { recordEvents } from './record.ts';

const MAX_CONTRACTS = 10_000;

export class ContractStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  /** Makes an award. `decide` gets the number of open awards per agent, and must be pure: it may be called again. */
  announce(
    decide: (
      openAwards: ReadonlyMap<string, number>,
      nowMs: number,
    ) => { readonly record: ContractRecord; readonly events: readonly FleetEvent[] },
  ): Promise<ContractRecord> {
    return this.#access.write(function* (nowMs) {
      const { record, events } = decide(yield* openAwards(nowMs), nowMs);
      yield* put(record);
      yield* recordEvents(events, nowMs);
      return record;
    });
  }

  get(callId: string): Promise<ContractRecord | null> {
    return this.#access.read(() => find(callId));
  }

  complete(callId: string, events: (record: ContractRecord) => readonly FleetEvent[]): Promise<ContractRecord | null> {
    return this.#access.write(function* (nowMs) {
      const found = yield* find(callId);
      if (found === null || found.status === 'completed') return found;
      const record: ContractRecord = { ...found, status: 'completed', completedMs: nowMs };
      yield* put(record);
      yield* recordEvents(events(record), nowMs);
      return record;
    });
  }
}

function find(callId: string): Steps<ContractRecord | null> {
  return record('SELECT record FROM main.fleet_contract WHERE call_id = ?', [callId]);
}

/** Number of open (neither completed nor expired) awards per agent. */
function* openAwards(nowMs: number): Steps<Map<string, number>> {
  const rows = yield* all<{ agent: string; open: number }>(
    `SELECT agent_id AS agent, count(*) AS open FROM main.fleet_contract
     WHERE status = 'awarded' AND (until_ms IS NULL OR until_ms > ?) GROUP BY agent_id`,
    [nowMs],
  );
  return new Map(rows.map(({ agent, open }) => [agent, open]));
}

function* put(record: ContractRecord): Steps<void> {
  const { callId, agentId, status, announcedMs, deadlineMs } = record;
  const untilMs = deadlineMs === null ? null : announcedMs + deadlineMs;
  yield* change(
    `INSERT INTO main.fleet_contract (call_id, agent_id, status, until_ms, record) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (call_id) DO UPDATE SET status = excluded.status, record = excluded.record`,
    [callId, agentId, status, untilMs, JSON.stringify(record)],
  );
  yield* change(`DELETE FROM main.fleet_contract WHERE seq <= (SELECT max(seq) FROM main.fleet_contract) - ?`, [
    MAX_CONTRACTS,
  ]);
}
