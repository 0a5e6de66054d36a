import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DecisionCache } from '../../src/core/decide/decision-cache.ts';
import { DecisionMaker } from '../../src/core/decide/decision-maker.ts';
import type { Store } from '../../src/core/ports.ts';
import { RequestPipeline } from '../../src/core/request/pipeline.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import type { Settings } from './cases.ts';
import { Broken } from './check.ts';

const TTL_MS = 1_000_000;
/** A store in memory serves so many cases, each of which begins when all before has expired. */
const CASES_PER_STORE = 150;

/** Real stores for many cases; opening one for each case would take most of the time. */
export class Ground {
  readonly clock = {
    now: 1_700_000_000_000,
    nowMs(): number {
      return this.now;
    },
  };
  readonly #folder: string;
  readonly #casesPerStore: number;
  #main: SqliteStore;
  #other: SqliteStore;
  #cases = 0;

  /**
   * @param folder - an empty folder for the stores on disk
   * @param casesPerStore - 1 where cases resemble each other: records of what was sent outlive the texts
   */
  constructor(folder: string, casesPerStore = CASES_PER_STORE) {
    this.#folder = folder;
    this.#casesPerStore = casesPerStore;
    this.#main = this.#open(':memory:');
    this.#other = this.#open(':memory:');
  }

  /** The store of the case, and one that knows nothing of it. */
  get stores(): { readonly main: SqliteStore; readonly other: SqliteStore } {
    return { main: this.#main, other: this.#other };
  }

  /** Makes everything that earlier cases left behind a thing of the past. */
  async next(): Promise<void> {
    this.clock.now += 3 * TTL_MS;
    if (++this.#cases % this.#casesPerStore !== 0) return;
    await this.close();
    this.#main = this.#open(':memory:');
    this.#other = this.#open(':memory:');
  }

  async close(): Promise<void> {
    await this.#main.close();
    await this.#other.close();
  }

  /** Lends a store on disk. */
  async onFile<T>(use: (open: () => SqliteStore) => Promise<T>): Promise<T> {
    const path = join(this.#folder, `case-${this.#cases}.db`);
    const opened: SqliteStore[] = [];
    try {
      return await use(() => {
        const store = this.#open(path);
        opened.push(store);
        return store;
      });
    } finally {
      for (const store of opened) await store.close();
      for (const end of ['', '-wal', '-shm']) rmSync(path + end, { force: true });
    }
  }

  /** Decisions with nothing in their memory. */
  decisions(store: Store): DecisionCache {
    return new DecisionCache({ store, clock: this.clock, ttlMs: TTL_MS, memoBytes: 1_000_000 });
  }

  /** A pipeline with nothing in its memory. */
  rewriter(
    store: Store,
    { minPruneChars, maxInputChars, maxPruneRatio, minKeepLines, annotateLines }: Settings,
  ): RequestPipeline {
    return new RequestPipeline({
      store,
      clock: this.clock,
      decisions: new DecisionMaker({ decisionCache: this.decisions(store), timeoutMs: 60_000 }),
      refused: new RefusedConversations(store),
      onFailure: (reason, cause) => {
        throw new Broken('no failure inside', `${reason}: ${String(cause)}`);
      },
      find: {
        minPruneChars,
        maxInputChars,
        limits: { maxPruneRatio, minKeepLines },
        neverPruneTool: (name) => name === 'fetch',
        neverPrunePath: (path) => path === 'Makefile',
      },
      render: { annotateLines, includeMarkers: true },
      memoBytes: 20_000_000,
    });
  }

  #open(path: string): SqliteStore {
    return openSqliteStore({
      path,
      clock: this.clock,
      ttlMs: TTL_MS,
      sentTtlMs: TTL_MS,
      maxBytes: 1e9,
      maxEvents: 100,
    });
  }
}
