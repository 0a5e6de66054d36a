import type { ContractRecord, ContractStore, FleetEvent } from '../../../core/ports/fleet.ts';
import type { FleetAccess } from './fleet-tables.ts';

/** `ContractStore` on SQLite. */
export class FileContracts implements ContractStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  announce(decide: Parameters<ContractStore['announce']>[0]): Promise<ContractRecord> {
    return this.#access.write(({ contracts }, nowMs, tell) => {
      const { record, events } = decide(contracts.openAwards(nowMs), nowMs);
      contracts.put(record);
      tell(events);
      return record;
    });
  }

  get(callId: string): Promise<ContractRecord | null> {
    return this.#access.read(({ contracts }) => contracts.get(callId));
  }

  complete(callId: string, events: (record: ContractRecord) => readonly FleetEvent[]): Promise<ContractRecord | null> {
    return this.#access.write(({ contracts }, nowMs, tell) => {
      const found = contracts.get(callId);
      if (found === null || found.status === 'completed') return found;
      const record: ContractRecord = { ...found, status: 'completed', completedMs: nowMs };
      contracts.put(record);
      tell(events(record));
      return record;
    });
  }
}
