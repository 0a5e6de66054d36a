import type { FleetEvent } from './events.ts';

export interface ContractRecord {
  readonly callId: string;
  readonly taskId: string;
  readonly status: 'awarded' | 'completed';
  readonly announcedMs: number;
  readonly deadlineMs: number | null;
  readonly completedMs: number | null;
  readonly agentId: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export interface ContractStore {
  /**
   * Decides on the basis of the open awards (agent → number). `decide` must be pure, because it may be called again.
   */
  announce(
    decide: (
      openAwards: ReadonlyMap<string, number>,
      nowMs: number,
    ) => {
      readonly record: ContractRecord;
      readonly events: readonly FleetEvent[];
    },
  ): Promise<ContractRecord>;
  get(callId: string): Promise<ContractRecord | null>;
  complete(callId: string, events: (record: ContractRecord) => readonly FleetEvent[]): Promise<ContractRecord | null>;
}
