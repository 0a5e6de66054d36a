import { setImmediate as nextTurn } from 'node:timers/promises';
import { SAME_RESET_S } from '@mcp-pruner/money/limits/attribution.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { readNote } from 'mcp-pruner/store/notes.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import { firstOpenReading, newestReading, readNewReadings, readReadingsOf } from './readings.ts';
import { type FoldState, type StoredReading, WindowFold } from './window-fold.ts';

/** A window of an account whose reset has not come. */
export interface OpenWindow {
  readonly account: string;
  readonly window: string;
  readonly minutes: number;
  readonly resetsS: number;
  readonly lastMs: number;
  readonly fold: WindowFold;
}

/** Readings per statement. The event loop serves others between two of them. */
const PAGE = 1_000;
/** Another process may commit a smaller id later, so the newest ids are read again. */
const READ_AGAIN = 200;
const SECOND_MS = 1_000;
/** Readings after which the sums are stored: a process that was killed reads so many again. */
const STORED_AFTER = 1_000;
const NOTE = 'limits';
const VERSION = 1;

/** The sums as stored. Readings are given by their ids, because an erasure changes them. */
interface Stored {
  readonly version: number;
  readonly lastId: number;
  readonly known: readonly number[];
  readonly windows: readonly (readonly [key: string, windows: readonly { resetsS: number; fold: FoldState }[]])[];
}

interface LimitFoldOptions {
  readonly sql: Pick<Rows, 'all'>;
  readonly clock: Clock;
  /** See `StoreHandle`. */
  readonly replaceNote: (name: string, text: string) => Promise<unknown>;
}

/**
 * The open windows of all accounts, kept up to date with the readings that were added since the last look, and stored
 * now and then, so that a later process reads no more than that either.
 */
export class LimitFold {
  readonly #sql: Pick<Rows, 'all'>;
  readonly #clock: Clock;
  readonly #replaceNote: LimitFoldOptions['replaceNote'];
  /** By account and name: the windows between resets that readings have reported. */
  readonly #windows = new Map<string, { resetsS: number; readonly fold: WindowFold }[]>();
  /** Newest ids, some of which are read again. */
  readonly #known = new Set<number>();
  #lastId: number | null = null;
  #reading: Promise<void> | null = null;
  #added = 0;

  constructor({ sql, clock, replaceNote }: LimitFoldOptions) {
    this.#sql = sql;
    this.#clock = clock;
    this.#replaceNote = replaceNote;
  }

  /** Reads what is new. Calls at the same time share one look. @throws StoreUnavailable */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
  }

  /** Whether so many readings were added that the sums should be stored. */
  get isDue(): boolean {
    return this.#added >= STORED_AFTER;
  }

  /** The newest open window of each account and name. */
  open(): readonly OpenWindow[] {
    const nowMs = this.#clock.nowMs();
    return [...this.#windows.values()].flatMap((windows) => {
      const shown = windows.flatMap(({ resetsS, fold }): OpenWindow[] => {
        const { last } = fold;
        if (last === undefined || resetsS * SECOND_MS <= nowMs) return [];
        const { account, window, minutes, endedMs } = last;
        return [{ account, window, minutes, resetsS, lastMs: endedMs, fold }];
      });
      return shown.toSorted((a, b) => b.lastMs - a.lastMs).slice(0, 1);
    });
  }

  /** Adds what is new, and stores the sums. @throws StoreUnavailable */
  async store(): Promise<void> {
    await this.refresh();
    if (this.#added === 0 || this.#lastId === null) return;
    this.#added = 0;
    const stored: Stored = {
      version: VERSION,
      lastId: this.#lastId,
      known: [...this.#known],
      windows: Array.from(this.#windows, ([key, windows]) => [
        key,
        windows.map(({ resetsS, fold }) => ({ resetsS, fold: fold.save() })),
      ]),
    };
    await this.#replaceNote(NOTE, JSON.stringify(stored));
  }

  /** Restores stored sums, unless they are of another version or of other readings. */
  async #restore(): Promise<void> {
    const note = await readNote(this.#sql, NOTE);
    if (note === null) return;
    const stored = JSON.parse(note) as Stored;
    if (stored.version !== VERSION || stored.lastId > (await newestReading(this.#sql))) return;
    const ids = stored.windows.flatMap(([, windows]) => windows.flatMap(({ fold }) => fold.recent));
    const readings = new Map<number, StoredReading>();
    for (let at = 0; at < ids.length; at += PAGE) {
      for (const one of await readReadingsOf(this.#sql, ids.slice(at, at + PAGE))) readings.set(one.id, one);
      await nextTurn();
    }
    const restored = stored.windows.map(
      ([key, windows]) =>
        [
          key,
          windows.flatMap(({ resetsS, fold: state }) => {
            const fold = WindowFold.restored(state, readings);
            return fold === null ? [] : [{ resetsS, fold }];
          }),
        ] as const,
    );
    if (restored.some(([, windows], i) => windows.length !== stored.windows[i]?.[1].length)) return;
    for (const [key, windows] of restored) this.#windows.set(key, windows);
    for (const id of stored.known) this.#known.add(id);
    this.#lastId = stored.lastId;
  }

  async #read(): Promise<void> {
    if (this.#lastId === null) await this.#restore();
    this.#lastId ??= (await firstOpenReading(this.#sql, this.#clock.nowMs())) - 1;
    for (;;) {
      const page = await readNewReadings(this.#sql, this.#lastId - this.#known.size, PAGE);
      for (const reading of page) this.#add(reading);
      if (page.length < PAGE) break;
      await nextTurn();
    }
    this.#forgetClosed();
  }

  #add(reading: StoredReading): void {
    const { id, account, window, resetsS } = reading;
    if (this.#known.has(id)) return;
    this.#known.add(id);
    const [oldest] = this.#known;
    if (this.#known.size > READ_AGAIN && oldest !== undefined) this.#known.delete(oldest);
    this.#lastId = Math.max(this.#lastId ?? 0, id);
    this.#added++;
    const key = JSON.stringify([account, window]);
    const windows = this.#windows.get(key) ?? [];
    const known = windows.findLast((one) => Math.abs(one.resetsS - resetsS) <= SAME_RESET_S);
    const to = known ?? { resetsS, fold: new WindowFold() };
    to.resetsS = resetsS;
    to.fold.add(reading);
    if (known === undefined) this.#windows.set(key, [...windows, to]);
  }

  #forgetClosed(): void {
    const nowS = this.#clock.nowMs() / SECOND_MS - SAME_RESET_S;
    for (const [key, windows] of this.#windows) {
      const open = windows.filter(({ resetsS }) => resetsS > nowS);
      if (open.length > 0) this.#windows.set(key, open);
      else this.#windows.delete(key);
    }
  }
}
