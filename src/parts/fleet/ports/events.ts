import type { EventRecord } from '../../../core/ports.ts';

/** An event of the fleet; the store adds its time. */
export type FleetEvent = Omit<EventRecord, 'tsMs'>;

/** The correlation of everything that a call created. */
export interface Correlation {
  readonly runId: string | null;
  readonly opId: string | null;
  readonly jobId: string | null;
  readonly graphId: string | null;
  readonly nodeId: string | null;
  readonly childId: string | null;
}
