import type { Database } from 'better-sqlite3';
import type { FleetAccess, Step, Steps } from '../fleet/steps.ts';
import type { Access } from './access.ts';
import { Statements } from './statements.ts';
import type { Tables } from './tables.ts';

/** A list that comes as JSON, as `Step` writes it. */
const LIST = /\bLIST\(\?\)/g;

/** Few servers have a fleet: its statements are prepared with their first use. */
const statements = new WeakMap<Database, Statements>();

function statementsOn(db: Database): Statements {
  const known = statements.get(db);
  if (known) return known;
  const fresh = new Statements(db, (sql) => sql.replace(LIST, '(SELECT value FROM json_each(?))'));
  statements.set(db, fresh);
  return fresh;
}

/** The fleet's transactions on the store's file. */
export class FileFleet implements FleetAccess {
  readonly #access: Access;
  readonly #maxEvents: number;

  /** @param maxEvents - how many events, and lines of agents, are kept */
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

  #do({ db, events, childLogs }: Tables, step: Step): unknown {
    switch (step.kind) {
      case 'rows':
        return statementsOn(db).all(step.sql, ...step.values);
      case 'change':
        return statementsOn(db).run(step.sql, ...step.values);
      case 'events':
        if (this.#maxEvents === 0) return undefined;
        events.add(step.events);
        return events.trim(this.#maxEvents, step.events.length * 2);
      case 'logs':
        childLogs.add(step.lines);
        return childLogs.trim(this.#maxEvents, step.lines.length * 2);
    }
  }
}
