import type { Clock, EventRecord, EventSink } from 'mcp-pruner/core/ports.ts';

/** Run id of all key events. The run belongs to no project, so only keys for all projects can see it. */
const KEYS_RUN = 'keys';

/** Further refusals of one kind within this time are combined to one event. */
const TOGETHER_MS = 10_000;
/** Maximum number of kinds counted concurrently. All unknown keys are one kind. */
const MAX_KINDS = 200;

interface Counted {
  readonly reason: string;
  readonly keyId: string | null;
  times: number;
}

/**
 * Rate-limited refusal events. The first refusal of a kind (reason, and key if known) is reported at once, further ones
 * as a count after ten seconds.
 */
export class Refusals {
  readonly #events: EventSink;
  readonly #clock: Clock;
  readonly #counted = new Map<string, Counted>();
  #timer: NodeJS.Timeout | undefined;

  constructor(events: EventSink, clock: Clock) {
    this.#events = events;
    this.#clock = clock;
  }

  add(reason: string, keyId: string | null): void {
    const kind = `${reason} ${keyId ?? ''}`;
    const known = this.#counted.get(kind);
    if (known) {
      known.times++;
      return;
    }
    if (this.#counted.size >= MAX_KINDS) return;
    this.#counted.set(kind, { reason, keyId, times: 0 });
    this.#record({ reason, keyId, times: 1 });
    this.#timer ??= setTimeout(() => this.flush(), TOGETHER_MS).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const counted of this.#counted.values()) if (counted.times > 0) this.#record(counted);
    this.#counted.clear();
  }

  #record({ reason, keyId, times }: Counted): void {
    this.#events.add([keyEvent('key_refused', this.#clock.nowMs(), { reason, key_id: keyId, times })]);
  }
}

/** Creates an event about a key. The payload never contains the key itself. */
export function keyEvent(
  kind: 'key_created' | 'key_changed' | 'key_revoked' | 'key_rotated' | 'key_refused',
  tsMs: number,
  payload: EventRecord['payload'],
): EventRecord {
  return {
    tsMs,
    kind,
    level: kind === 'key_refused' ? 'warn' : 'info',
    runId: KEYS_RUN,
    opId: null,
    payload,
    audit: true,
  };
}
