import { addEvents } from 'mcp-pruner/store/logs.ts';
import type { Steps } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent } from '../ports.ts';

/** Writes events within the current transaction. */
export function* recordEvents(events: readonly FleetEvent[], nowMs: number): Steps<void> {
  yield* addEvents(events.map((event) => ({ ...event, tsMs: nowMs })));
}
