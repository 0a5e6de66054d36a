import { BoundedMap } from '../base/bounded-map.ts';
import type { FailureReporter } from '../base/failures.ts';
import { type BackgroundWriter, WriteBehind, writeApart, writeInParts } from '../base/write-behind.ts';
import { isUnwritable, reasonOf } from '../errors/errors.ts';
import type { EventRecord, EventSink, Store } from './ports.ts';

interface EventLogOptions {
  readonly store: Pick<Store, 'addEvents'>;
  /** Maximum number of stored events. With 0, only audit events are stored. */
  readonly maxEvents: number;
  /** Called when events are lost because they could not be written. */
  readonly onFailure: FailureReporter;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
}

/** Maximum number of events waiting to be written; beyond it the oldest are dropped. */
const MAX_WAITING = 5_000;
/** Maximum number of prunes whose run is remembered, so that later events about them are filed under the same run. */
const MAX_PRUNES = 10_000;

/** Run of events outside any conversation: tool calls by clients. */
export const MCP_RUN = 'mcp';
/** Run of events about connections that carry no request. */
export const CONNECTION_RUN = 'connection';
/** Run of store maintenance events. */
export const STORE_RUN = 'store';

/** Collects events and writes them in batches shortly afterwards; no caller waits for the write. */
export class EventLog implements EventSink {
  readonly #options: EventLogOptions;
  readonly #runOfPrune = new BoundedMap<string, string>(MAX_PRUNES);
  #waiting: EventRecord[] = [];
  readonly #behind: BackgroundWriter;
  #listeners = new Set<() => void>();

  constructor(options: EventLogOptions) {
    this.#options = options;
    this.#behind = (options.behind ?? new WriteBehind()).writer(() => this.#write());
  }

  add(events: readonly EventRecord[]): void {
    for (const event of events) {
      if (this.#options.maxEvents === 0 && !event.audit) continue;
      this.#waiting.push(event);
      if (event.kind === 'pruned') this.#runOfPrune.set(String(event.payload.prune_id), event.runId);
    }
    if (this.#waiting.length > MAX_WAITING) this.#waiting = withinLimit(this.#waiting);
    if (this.#waiting.length > 0) this.#behind.soon(this.#waiting.length);
  }

  /** The run in which this process last saw a prune; `MCP_RUN` if unknown. */
  runOf(pruneId: string): string {
    return this.#runOfPrune.peek(pruneId) ?? MCP_RUN;
  }

  /** Writes waiting events. Never rejects: events that cannot be written are dropped, and their loss is reported. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  /** Calls the listener after each write, until the returned function is called. */
  onWritten(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async #write(): Promise<void> {
    const events = this.#waiting;
    this.#waiting = [];
    const { store, onFailure } = this.#options;
    await writeInParts(events, (some) => {
      let left = some.length;
      const add = (part: readonly EventRecord[]): Promise<void> =>
        store.addEvents(part).then(() => {
          left -= part.length;
        });
      const drop = (_: EventRecord, cause: unknown): void => {
        left--;
        onFailure('event_dropped', cause, { events: 1 });
      };
      return writeApart(some, add, isUnwritable, drop).catch((cause: unknown) =>
        onFailure(reasonOf(cause), cause, { events: left }),
      );
    });
    if (events.length > 0) for (const listener of this.#listeners) listener();
  }
}

/** Drops the oldest events beyond the limit, audit events last. */
function withinLimit(events: readonly EventRecord[]): EventRecord[] {
  const audits = events.filter(({ audit }) => audit).slice(-MAX_WAITING);
  const room = MAX_WAITING - audits.length;
  let plain = events.length - audits.length;
  return events.filter(({ audit }) => audit || plain-- <= room);
}
