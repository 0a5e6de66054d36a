import type { FleetAccess, Step, Steps } from '../fleet/steps.ts';
import { childLogRows } from '../log-rows.ts';
import type { Queryable } from './database.ts';
import { addEvents, addToLog } from './logs.ts';
import type { DatabaseParts } from './record-store.ts';
import { allOf, changeOf } from './rows.ts';

/** Advisory lock of the database ("mcpf") that serialises changes of the fleet. */
const LOCK = 0x6d637066;
/** A fleet call is no model request, so it may wait for earlier ones. */
const WAIT_MS = 10_000;

/**
 * The fleet's transactions on a database. They are serial, as on a file. So a checked condition still holds at the
 * write, whichever replica runs it, and versions are consecutive.
 */
export class DatabaseFleet implements FleetAccess {
  readonly #parts: DatabaseParts;
  readonly #maxEvents: number;
  readonly #lock: number;

  /**
   * @param maxEvents - most stored events, and lines of agent logs
   * @param lock - the advisory lock of changes
   */
  constructor(parts: DatabaseParts, maxEvents: number, lock = LOCK) {
    this.#parts = parts;
    this.#lock = lock;
    this.#maxEvents = maxEvents;
  }

  read<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    const { database, rows } = this.#parts;
    return database.snapshot((client) => this.#run(client, work(rows.nowMs())), WAIT_MS);
  }

  write<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    const { database, rows } = this.#parts;
    return database.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [this.#lock]);
      return this.#run(client, work(rows.nowMs()));
    }, WAIT_MS);
  }

  async #run<T>(client: Queryable, steps: Steps<T>): Promise<T> {
    let next = steps.next();
    while (next.done !== true) next = steps.next(await this.#do(client, next.value));
    return next.value;
  }

  async #do(client: Queryable, step: Step): Promise<unknown> {
    switch (step.kind) {
      case 'rows':
        return allOf(client, step.sql, step.values);
      case 'change':
        return changeOf(client, step.sql, step.values);
      case 'events':
        if (this.#maxEvents > 0) await addEvents(client, step.events, this.#maxEvents);
        return undefined;
      case 'logs':
        return addToLog(client, childLogRows(step.lines), this.#maxEvents);
    }
  }
}
