import type { Committed, StoreBatch } from '../../core/ports.ts';
import { type Appended, insertionInto, type Sql, type Step, type Steps, type WriteOptions } from '../sql/steps.ts';
import { TogetherWriter } from '../sql/together.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { Tables } from './tables.ts';

type SaveBatch = (tables: Tables, batch: StoreBatch, nowMs: number) => Committed;

/** Runs Common SQL on the store's file. */
export class FileSql implements Sql {
  readonly #access: Access;
  readonly #maxEvents: number;
  readonly #save: SaveBatch;
  readonly #together = new TogetherWriter((work) =>
    this.#access.writeNow((tables, nowMs) => this.run(tables, work(nowMs)), { waitMs: BACKGROUND_WAIT_MS }),
  );

  /**
   * @param maxEvents - maximum number of stored events, and of lines of agent logs
   * @param save - stores a batch within a transaction
   */
  constructor(access: Access, maxEvents: number, save: SaveBatch) {
    this.#access = access;
    this.#maxEvents = maxEvents;
    this.#save = save;
  }

  all<Row>(commonSql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return this.#access.all(commonSql, values);
  }

  nowMs(): number {
    return this.#access.nowMs();
  }

  expiry(...item: Parameters<Access['expiry']>): number {
    return this.#access.expiry(...item);
  }

  read<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    return this.#access.read((tables, nowMs) => this.run(tables, work(nowMs)));
  }

  write<T>(work: (nowMs: number) => Steps<T>, { background, waitMs }: WriteOptions = {}): Promise<T> {
    if (background !== undefined) return this.#together.write(background, work);
    return this.#access.write((tables, nowMs) => this.run(tables, work(nowMs)), { waitMs, verify: true });
  }

  once<Row>(commonSql: string, rows: readonly (readonly unknown[])[], waitMs?: number): Promise<Row[]> {
    return this.#access.write(({ sql }) => sql.each<Row>(commonSql, rows), { waitMs, verify: true });
  }

  /** Runs steps inside the caller's transaction. */
  run<T>(tables: Tables, steps: Steps<T>): T {
    let next = steps.next();
    while (next.done !== true) next = steps.next(this.#do(tables, next.value));
    return next.value;
  }

  #do(tables: Tables, step: Step): unknown {
    const { sql, decisions } = tables;
    switch (step.kind) {
      case 'rows':
        return sql.allOf(step.sql, step.values);
      case 'change':
        return sql.change(step.sql, step.values);
      case 'each':
        return sql.each(step.sql, step.rows);
      case 'turn':
        return this.nowMs();
      case 'erase':
        return decisions.erase(step.pruneIds);
      case 'save':
        return this.#save(tables, step.batch, this.nowMs());
      case 'append': {
        sql.each(insertionInto(step.log, step.columns), step.rows); // numbered by AUTOINCREMENT
        return { last: sql.lastRow, keep: this.#maxEvents } satisfies Appended;
      }
      case 'holdLog':
        return undefined;
    }
  }
}
