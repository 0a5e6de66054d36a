import type { ContractRecord } from '../../core/ports/fleet.ts';
import { all, change, one, type Steps } from './steps.ts';

const MAX_CONTRACTS = 10_000;

/** Awards of the contract net as JSON. */
export class ContractTable {
  *get(callId: string): Steps<ContractRecord | null> {
    const row = yield* one<{ record: string }>('SELECT record FROM fleet_contract WHERE call_id = ?', callId);
    return row && (JSON.parse(row.record) as ContractRecord);
  }

  /** How many awards each agent has that are neither completed nor past their time. */
  *openAwards(nowMs: number): Steps<Map<string, number>> {
    const rows = yield* all<{ agent: string; open: number }>(
      `SELECT agent_id AS agent, count(*) AS open FROM fleet_contract
       WHERE status = 'awarded' AND (until_ms IS NULL OR until_ms > ?) GROUP BY agent_id`,
      nowMs,
    );
    return new Map(rows.map(({ agent, open }) => [agent, open]));
  }

  *put(record: ContractRecord): Steps<void> {
    const { callId, agentId, status, announcedMs, deadlineMs } = record;
    const untilMs = deadlineMs === null ? null : announcedMs + deadlineMs;
    yield* change(
      `INSERT INTO fleet_contract (call_id, agent_id, status, until_ms, record) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (call_id) DO UPDATE SET status = excluded.status, record = excluded.record`,
      callId,
      agentId,
      status,
      untilMs,
      JSON.stringify(record),
    );
    yield* change(`DELETE FROM fleet_contract WHERE seq <= (SELECT max(seq) FROM fleet_contract) - ?`, MAX_CONTRACTS);
  }
}
