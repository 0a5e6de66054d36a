import { ExactLruMap } from '../base/bounded-map.ts';
import type { FailureReporter } from '../base/failures.ts';
import { type BackgroundWriter, type WriteBehind, writeInParts } from '../base/write-behind.ts';
import type { Clock, SentMessage } from '../core/ports.ts';
import type { OwnRecords } from '../core/sent/records.ts';
import { applyErasures } from '../store/erase/replicas.ts';
import type { StoreHandle } from '../store/handle.ts';
import { lifetimesOf } from '../store/lifetimes.ts';
import type { Rows } from '../store/sql/steps.ts';

/** The file of a replica. */
type OwnFile = Pick<StoreHandle, 'findSent' | 'commit' | 'sweep' | 'sql' | 'close'>;

interface OwnRecordsOptions {
  /** Opens the file on the first use. */
  readonly open: () => Promise<OwnFile>;
  /** The database, whose erasures apply to the file too. */
  readonly shared: { readonly sql: Rows; ready(): Promise<void>; epoch(): string };
  /** Lifetime of originals after their last use. */
  readonly ttlMs: number;
  readonly behind: WriteBehind;
  readonly clock: Clock;
  readonly onFailure: FailureReporter;
}

/** Maximum number of unwritten records, some 1 KB each. */
const MAX_WAITING = 20_000;
const SWEEP_MS = 3_600_000;
const MAX_SWEEPS = 100;
/** Interval of looking for erasures in the database, in milliseconds. */
const ERASE_EVERY_MS = 60_000;

/**
 * What a replica has sent, in its own SQLite file beside the database. If the database is locked or away, the replica
 * still repeats its own conversations, also after a restart.
 */
export class OwnRecordsFile implements OwnRecords {
  readonly #options: OwnRecordsOptions;
  readonly #writer: BackgroundWriter;
  readonly #waiting = new ExactLruMap<string, SentMessage>(MAX_WAITING);
  #file: Promise<OwnFile> | null = null;
  #sweptMs = Number.NEGATIVE_INFINITY;
  #failing = false;
  #erasing: Promise<void> | null = null;
  #isBehind = false;
  #epoch = '';
  readonly #timer: NodeJS.Timeout;

  constructor(options: OwnRecordsOptions) {
    this.#options = options;
    this.#writer = options.behind.writer(() => this.#write());
    this.#timer = setInterval(() => void this.erase(), ERASE_EVERY_MS).unref();
    void this.erase();
  }

  /** Applies erasures of the database that are new. Never rejects: without the database they wait. */
  erase(): Promise<void> {
    this.#erasing ??= this.#erase().finally(() => {
      this.#erasing = null;
    });
    return this.#erasing;
  }

  async #erase(): Promise<void> {
    const { shared, ttlMs, onFailure } = this.#options;
    try {
      await shared.ready();
      await this.#writer.flush(); // what waits may name an erased prune too
      await applyErasures(shared.sql, async () => (await this.#opened()).sql, lifetimesOf({ ttlMs }));
      this.#isBehind = false;
    } catch (cause) {
      if (!this.#isBehind) onFailure('past_not_erased', cause);
      this.#isBehind = true;
    }
  }

  async find(prefixes: readonly string[]): Promise<ReadonlyMap<string, SentMessage>> {
    const found = new Map<string, SentMessage>();
    try {
      for (const [prefix, message] of await (await this.#opened()).findSent(prefixes)) found.set(prefix, message);
    } catch (cause) {
      this.#failed(cause);
    }
    for (const prefix of prefixes) {
      const waiting = this.#waiting.get(prefix);
      if (waiting) found.set(prefix, waiting);
    }
    return found;
  }

  add(messages: readonly SentMessage[]): void {
    if (messages.length === 0) return;
    for (const message of messages) this.#waiting.set(message.prefix, message);
    this.#writer.soon(this.#waiting.size);
  }

  /** Writes what is waiting, and closes the file. Never rejects. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#erasing;
    await this.#writer.flush();
    await this.#file?.then((file) => file.close()).catch((cause: unknown) => this.#failed(cause));
  }

  #opened(): Promise<OwnFile> {
    this.#file ??= this.#options.open();
    return this.#file;
  }

  async #write(): Promise<void> {
    const messages = [...this.#waiting.values()];
    if (messages.length === 0) return;
    try {
      const epoch = this.#options.shared.epoch(); // changes after deletions
      if (epoch !== this.#epoch) setImmediate(() => void this.erase());
      this.#epoch = epoch;
      const file = await this.#opened();
      await writeInParts(messages, async (some) => {
        await file.commit({ decisions: [], touch: [], sent: [...some] }, 0);
        for (const one of some) if (this.#waiting.peek(one.prefix) === one) this.#waiting.delete(one.prefix);
      });
      this.#failing = false;
      await this.#sweep(file);
    } catch (cause) {
      this.#failed(cause);
    }
  }

  /** Deletes expired records, once an hour. */
  async #sweep(file: OwnFile): Promise<void> {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    for (let i = 0; i < MAX_SWEEPS && (await file.sweep()); i++);
  }

  #failed(cause: unknown): void {
    if (!this.#failing) this.#options.onFailure('past_not_noted', cause);
    this.#failing = true;
  }
}
