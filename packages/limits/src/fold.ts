import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { type Reading, SAME_RESET_S } from 'mcp-pruner/ledger/limits/attribution.ts';
import { WindowFold } from 'mcp-pruner/ledger/limits/window-fold.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import { firstOpenReading, readNewReadings } from './readings.ts';

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

/**
 * The open windows of all accounts, kept up to date with the readings that were added since the last look. The first
 * look reads the open windows once.
 */
export class LimitFold {
  readonly #sql: Pick<Rows, 'all'>;
  readonly #clock: Clock;
  /** By account and name: the windows between resets that readings have reported. */
  readonly #windows = new Map<string, { resetsS: number; readonly fold: WindowFold }[]>();
  /** Newest ids, some of which are read again. */
  readonly #known = new Set<number>();
  #lastId: number | null = null;
  #reading: Promise<void> | null = null;

  constructor(sql: Pick<Rows, 'all'>, clock: Clock) {
    this.#sql = sql;
    this.#clock = clock;
  }

  /** Reads what is new. Calls at the same time share one look. @throws StoreUnavailable */
  refresh(): Promise<void> {
    this.#reading ??= this.#read().finally(() => {
      this.#reading = null;
    });
    return this.#reading;
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

  async #read(): Promise<void> {
    this.#lastId ??= (await firstOpenReading(this.#sql, this.#clock.nowMs())) - 1;
    for (;;) {
      const page = await readNewReadings(this.#sql, this.#lastId - this.#known.size, PAGE);
      for (const reading of page) this.#add(reading);
      if (page.length < PAGE) break;
      await nextTurn();
    }
    this.#forgetClosed();
  }

  #add(reading: Reading & { readonly id: number }): void {
    const { id, account, window, resetsS } = reading;
    if (this.#known.has(id)) return;
    this.#known.add(id);
    const [oldest] = this.#known;
    if (this.#known.size > READ_AGAIN && oldest !== undefined) this.#known.delete(oldest);
    this.#lastId = Math.max(this.#lastId ?? 0, id);
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
