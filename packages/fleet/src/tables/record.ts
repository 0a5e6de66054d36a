import { addEvents } from 'mcp-pruner/store/logs.ts';
import type { Steps } from 'mcp-pruner/store/sql/steps.ts';
import type { FleetEvent } from '../ports.ts';

export function* recordEvents(events: readonly FleetEvent[], nowMs: number): Steps<void> {
  yield* addEvents(events.map((event) => ({ ...event, tsMs: nowMs })));
}
