import type { ContractRecord, ContractStore, FleetEvent } from '../../core/ports/fleet.ts';
import { ContractTable } from './contract-table.ts';
import { type FleetAccess, tell } from './steps.ts';

const contracts = new ContractTable();

/** `ContractStore` on whatever holds its tables. */
export class StoredContracts implements ContractStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  announce(decide: Parameters<ContractStore['announce']>[0]): Promise<ContractRecord> {
    return this.#access.write(function* (nowMs) {
      const { record, events } = decide(yield* contracts.openAwards(nowMs), nowMs);
      yield* contracts.put(record);
      yield* tell(events, nowMs);
      return record;
    });
  }

  get(callId: string): Promise<ContractRecord | null> {
    return this.#access.read(() => contracts.get(callId));
  }

  complete(callId: string, events: (record: ContractRecord) => readonly FleetEvent[]): Promise<ContractRecord | null> {
    return this.#access.write(function* (nowMs) {
      const found = yield* contracts.get(callId);
      if (found === null || found.status === 'completed') return found;
      const record: ContractRecord = { ...found, status: 'completed', completedMs: nowMs };
      yield* contracts.put(record);
      yield* tell(events(record), nowMs);
      return record;
    });
  }
}
