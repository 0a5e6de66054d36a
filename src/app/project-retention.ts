import type { ProjectBook } from '../config/project-book.ts';
import type { Context } from './context.ts';

/** Interval between looks for data that a project keeps no longer. */
const LOOK_MS = 600_000;

/** Deletes what projects keep for a shorter time than the server, in the pauses between requests. */
export class RetentionByProject {
  readonly #context: Pick<Context, 'store' | 'settings' | 'clock'>;
  readonly #book: Pick<ProjectBook, 'retentions'>;
  #nextMs = Number.NEGATIVE_INFINITY;

  constructor(context: Pick<Context, 'store' | 'settings' | 'clock'>, book: Pick<ProjectBook, 'retentions'>) {
    this.#context = context;
    this.#book = book;
  }

  /** Returns whether the next step has work to do as well. @throws StoreUnavailable */
  async step(): Promise<boolean> {
    const { store, settings, clock } = this.#context;
    const retentions = this.#book.retentions();
    if (retentions.length === 0 || clock.nowMs() < this.#nextMs) return false;
    const erasure = await store.erasure();
    let more = false;
    for (const retention of retentions) {
      more = (await erasure.expire(retention, settings.pruneIdTtlS * 1000)) || more;
    }
    if (!more) this.#nextMs = clock.nowMs() + LOOK_MS;
    return more;
  }
}
