import type { Decision } from '../ports.ts';
import { decide, type Job } from './decision.ts';
import { Turns } from './turns.ts';

/** Decides about texts, wherever that is done. */
export interface Decider {
  /**
   * As `decide`.
   *
   * @param deadline - until when it may take, of `performance.now()`; later the text stays whole (`timeout`)
   */
  decide(job: Job, key: string, deadline: number, opinions: Float64Array | null): Promise<Decision>;
}

/** Decides right here, taking turns with whatever else there is to do. */
export class DecideHere implements Decider {
  readonly #turns: Turns;

  /** @param turns - shared by all that works long on this thread */
  constructor(turns = new Turns()) {
    this.#turns = turns;
  }

  decide(job: Job, key: string, deadline: number, opinions: Float64Array | null): Promise<Decision> {
    return this.#turns.run(() => decide(job, key, () => performance.now() > deadline, opinions));
  }
}
