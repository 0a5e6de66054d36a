import type { FleetEvent } from '../../fleet/ports.ts';
import { addEvents } from '../logs.ts';
import type { Steps } from '../sql/steps.ts';

/** Writes events within the current transaction. */
export function* tell(events: readonly FleetEvent[], nowMs: number): Steps<void> {
  yield* addEvents(events.map((event) => ({ ...event, tsMs: nowMs })));
}
