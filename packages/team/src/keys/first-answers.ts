import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { CounterIncrement, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';

interface FirstAnswersOptions {
  readonly keys: () => Promise<Pick<KeyStore, 'count' | 'correct'>>;
  readonly clock: Clock;
  readonly onFailure: FailureReporter;
}

/** Maximum wait of a request for the first answer, in milliseconds; then it is refused. */
const WAIT_MS = 1_000;
/** Poll interval for a first answer received by another process. */
const POLL_MS = 50;
/** Lease of a claim, so that the claim of a killed process expires. */
const LEASE_MS = 60_000;

interface HeldClaim {
  readonly at: number;
  readonly left: Promise<void>;
  readonly leave: () => void;
}

/**
 * Serialises the requests of a key until their typical size is known. Otherwise a first burst could exceed the limit
 * many times over, because tokens are counted only after an answer. The claim is stored in the database, so that it
 * applies to all processes.
 */
export class FirstAnswers {
  readonly #options: FirstAnswersOptions;
  readonly #held = new Map<string, HeldClaim>();

  constructor(options: FirstAnswersOptions) {
    this.#options = options;
  }

  /**
   * Claims the key, or waits briefly until the claim is no longer needed.
   *
   * @param isKnown - whether the typical size of this key's requests is known
   * @returns `first` if the caller must release the claim with `leave`; `refused` if another request holds it
   */
  async enter(keyId: string, isKnown: () => boolean): Promise<'known' | 'first' | 'refused'> {
    const deadline = performance.now() + WAIT_MS;
    for (let held = this.#held.get(keyId); held !== undefined; held = this.#held.get(keyId)) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return 'refused';
      await within(held.left, leftMs);
    }
    if (isKnown()) return 'known';
    const held = heldAt(Math.floor(this.#options.clock.nowMs() / LEASE_MS));
    this.#held.set(keyId, held);
    while (!(await this.#takes(keyId, held.at))) {
      if (performance.now() >= deadline) {
        this.#drop(keyId, held);
        return 'refused';
      }
      await sleep(POLL_MS);
    }
    return 'first';
  }

  /** Releases the claim. Never rejects. */
  async leave(keyId: string): Promise<void> {
    const held = this.#held.get(keyId);
    if (held === undefined) return;
    const { keys, onFailure } = this.#options;
    try {
      await (await keys()).correct(keyId, { span: 'first', at: held.at, add: -1 });
    } catch (cause) {
      onFailure('not_counted', cause, { key: keyId });
    }
    this.#drop(keyId, held);
  }

  /** Takes the claim. If the counter is unavailable, the request proceeds. */
  async #takes(keyId: string, at: number): Promise<boolean> {
    const { keys, onFailure } = this.#options;
    const place: CounterIncrement = { span: 'first', at, add: 1, limit: 1 };
    try {
      return (await (await keys()).count(keyId, [place])).has('first');
    } catch (cause) {
      onFailure('not_counted', cause, { key: keyId });
      return true;
    }
  }

  #drop(keyId: string, held: HeldClaim): void {
    this.#held.delete(keyId);
    held.leave();
  }
}

function heldAt(at: number): HeldClaim {
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  return { at, left, leave };
}

async function within(work: Promise<void>, ms: number): Promise<void> {
  const done = new AbortController();
  const late = sleep(ms, undefined, { signal: done.signal }).catch(() => undefined); // ended early by the awaited event
  await Promise.race([work, late]);
  done.abort();
}
