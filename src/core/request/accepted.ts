import { BoundedMap } from '../../bounded-map.ts';
import type { FailureReporter } from '../../failures.ts';
import type { Store } from '../ports.ts';
import type { SentMemory } from '../sent/memory.ts';
import { acceptedPrefix, wholeRecord } from '../sent/records.ts';
import { newCutPrefixes, type Rewritten } from './rewritten.ts';

/**
 * Most messages whose accepted cuts are remembered. Each is needed for one turn only: an answer after a cut message
 * proves that the provider accepted it.
 */
const MAX_ACCEPTED = 20_000;
/** Longest wait for another writer of the store, in milliseconds. The answer is on its way to the client meanwhile. */
export const NOTE_WAIT_MS = 5_000;

/**
 * Remembers which cuts a provider has accepted. Once it has accepted a cut, a later refusal is not answered by
 * resending the request unpruned.
 */
export class AcceptedCuts {
  readonly #store: Pick<Store, 'commit'>;
  readonly #sent: SentMemory;
  readonly #onFailure: FailureReporter;
  readonly #prefixes = new BoundedMap<string, true>(MAX_ACCEPTED);

  constructor(store: Pick<Store, 'commit'>, sent: SentMemory, onFailure: FailureReporter) {
    this.#store = store;
    this.#sent = sent;
    this.#onFailure = onFailure;
  }

  /** Marks an outcome whose cuts the provider is remembered to have accepted. */
  seenIn(request: Rewritten): Rewritten {
    const isAccepted = request.acceptedBefore || newCutPrefixes(request).some((prefix) => this.#prefixes.has(prefix));
    return isAccepted === request.acceptedBefore ? request : { ...request, acceptedBefore: isAccepted };
  }

  /**
   * Records that a provider accepted a request: its new cuts, and the history that was forwarded whole. Never rejects.
   */
  async add(request: Rewritten): Promise<void> {
    // an answer after a cut message proves that its cuts were accepted
    const fresh = newCutPrefixes(request).filter((prefix) => !this.#prefixes.has(prefix));
    for (const prefix of fresh) this.#prefixes.set(prefix, true);
    const sent = [...request.rawPrefixes, ...fresh.map(acceptedPrefix)].map(wholeRecord);
    if (sent.length === 0) return;
    this.#sent.add(sent);
    const noted = this.#store.commit({ decisions: [], touch: [], sent }, NOTE_WAIT_MS);
    await noted.catch((cause: unknown) => this.#onFailure('past_not_noted', cause));
  }
}
