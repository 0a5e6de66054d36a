import type { FleetAccess, Step, Steps } from '../fleet/steps.ts';
import { childLogRows } from '../log-rows.ts';
import type { Access } from './access.ts';
import { addEvents, addToLog } from './logs.ts';
import type { Tables } from './tables.ts';

/** The fleet's transactions on the store's file. */
export class FileFleet implements FleetAccess {
  readonly #access: Access;
  readonly #maxEvents: number;

  /** @param maxEvents - most stored events, and lines of agent logs */
  constructor(access: Access, maxEvents: number) {
    this.#access = access;
    this.#maxEvents = maxEvents;
  }

  read<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    return this.#access.read((tables, nowMs) => this.#run(tables, work(nowMs)));
  }

  write<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    return this.#access.write((tables, nowMs) => this.#run(tables, work(nowMs)), { verify: true });
  }

  #run<T>(tables: Tables, steps: Steps<T>): T {
    let next = steps.next();
    while (next.done !== true) next = steps.next(this.#do(tables, next.value));
    return next.value;
  }

  #do({ sql }: Tables, step: Step): unknown {
    switch (step.kind) {
      case 'rows':
        return sql.allOf(step.sql, step.values);
      case 'change':
        return sql.run(step.sql, step.values);
      case 'events':
        if (this.#maxEvents > 0) addEvents(sql, step.events, this.#maxEvents);
        return undefined;
      case 'logs':
        return addToLog(sql, childLogRows(step.lines), this.#maxEvents);
    }
  }
}
