import { ExactLruMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { type Work, waitFor } from '../../base/work.ts';
import type { SentMessage, Store } from '../ports.ts';

/** Maximum number of waiting records: several hundred requests, some 200 bytes each. */
const MAX_WAITING = 20_000;
/** Maximum wait of a request for another writer of the store, in milliseconds. */
const WAIT_MS = 1_000;

/**
 * Records about sent messages that could not be written. They wait for the next request that is stored. Otherwise a
 * later process would not know how these messages were sent, and might apply the record of another conversation with
 * the same results.
 */
export class LateRecords {
  readonly #store: Pick<Store, 'commit'>;
  readonly #onFailure: FailureReporter;
  readonly #waiting = new ExactLruMap<string, SentMessage>(MAX_WAITING);

  constructor(store: Pick<Store, 'commit'>, onFailure: FailureReporter) {
    this.#store = store;
    this.#onFailure = onFailure;
  }

  add(records: readonly SentMessage[]): void {
    for (const record of records) this.#waiting.set(record.prefix, record);
  }

  /** Writes the waiting records; existing ones stay as they are. Never throws. */
  *flush(): Work<void> {
    if (this.#waiting.size === 0) return;
    const sent = [...this.#waiting.values()];
    this.#waiting.clear();
    yield* this.write(sent, WAIT_MS);
  }

  /**
   * Writes records at once, or else with the next `flush`. Never throws.
   *
   * @param waitMs - maximum wait for another writer of the store, in milliseconds
   */
  *write(sent: readonly SentMessage[], waitMs: number): Work<void> {
    try {
      yield* waitFor(this.#store.commit({ decisions: [], touch: [], sent }, waitMs));
    } catch (cause) {
      this.add(sent);
      this.#onFailure('past_not_noted', cause);
    }
  }
}
