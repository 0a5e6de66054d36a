import type { ConnectionHolder } from './connection-holder.ts';

/** Counters that change with each deletion of a prune and each change of a directive, by any process. */
interface Counters {
  readonly deleted: string;
  readonly directives: string;
}

/** The counters, read once per turn of the event loop and after each write. */
export class Generations {
  readonly #holder: ConnectionHolder;
  #now: Counters | null = null;

  constructor(holder: ConnectionHolder) {
    this.#holder = holder;
  }

  /** @throws StoreUnavailable */
  get now(): Counters {
    try {
      this.#now ??= this.#read();
      return this.#now;
    } catch (cause) {
      throw this.#holder.failed(cause);
    }
  }

  forget(): void {
    this.#now = null;
  }

  #read(): Counters {
    const { sql } = this.#holder.repeated(() => this.#holder.verified()).tables;
    const [deleted = 0, directives = 0] = sql.column<number>(
      "SELECT value FROM meter WHERE name IN ('deleted_generation', 'directive_generation') ORDER BY name",
    );
    setImmediate(() => this.forget());
    return { deleted: `${this.#holder.serial}.${deleted}`, directives: `${this.#holder.serial}.${directives}` };
  }
}
