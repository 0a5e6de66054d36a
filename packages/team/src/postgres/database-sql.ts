import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { PendingUses } from 'mcp-pruner/store/lifetimes.ts';
import { manyRows, postgresStatement } from 'mcp-pruner/store/sql/common-sql.ts';
import {
  type Appended,
  insertionInto,
  type Sql,
  type Step,
  type Steps,
  type WriteOptions,
} from 'mcp-pruner/store/sql/steps.ts';
import { TogetherWriter } from 'mcp-pruner/store/sql/together.ts';
import type { Database, Queryable } from './database.ts';
import type { ReplicaView } from './replica-view.ts';
import { erasePrunes } from './sweep.ts';
import { fromPg, toPg } from './text.ts';

/** Wait for earlier calls, off the request path. */
const WAIT_MS = 10_000;
const BACKGROUND_WAIT_MS = 5_000;
/** Maximum number of values per statement; the protocol's limit is 65,535. */
const MAX_VALUES = 60_000;

export interface DatabaseParts {
  readonly database: Database;
  readonly view: ReplicaView;
  readonly rows: Sql;
}

export class DatabaseSql implements Sql {
  readonly #database: Database;
  readonly #clock: Clock;
  readonly #uses: PendingUses;
  readonly #maxEvents: number;
  readonly #together = new TogetherWriter((work) =>
    this.#database.transaction((client) => this.run(client, work(this.nowMs())), BACKGROUND_WAIT_MS),
  );

  /** @param maxEvents - maximum number of stored events, and of lines of agent logs */
  constructor(database: Database, clock: Clock, uses: PendingUses, maxEvents: number) {
    this.#database = database;
    this.#clock = clock;
    this.#uses = uses;
    this.#maxEvents = maxEvents;
  }

  all<Row>(commonSql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return allOf(this.#database, commonSql, values);
  }

  nowMs(): number {
    return Math.trunc(this.#clock.nowMs());
  }

  expiry(...item: Parameters<PendingUses['expiry']>): number {
    return this.#uses.expiry(...item);
  }

  read<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    return this.#database.snapshot((client) => this.run(client, work(this.nowMs())), WAIT_MS);
  }

  write<T>(work: (nowMs: number) => Steps<T>, { background, waitMs = WAIT_MS }: WriteOptions = {}): Promise<T> {
    if (background !== undefined) return this.#together.write(background, work);
    return this.#database.transaction((client) => this.run(client, work(this.nowMs())), waitMs);
  }

  async once<Row>(commonSql: string, rows: readonly (readonly unknown[])[], waitMs: number = WAIT_MS): Promise<Row[]> {
    const [statement, ...more] = statementsOf(commonSql, rows);
    if (!statement) return [];
    const { text, values } = statement;
    if (more.length === 0) return restored<Row>(await this.#database.write(text, values, waitMs));
    return this.#database.transaction((client) => eachOf<Row>(client, commonSql, rows), waitMs);
  }

  /** Runs steps inside the caller's transaction. */
  async run<T>(client: Queryable, steps: Steps<T>): Promise<T> {
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
      case 'each':
        return eachOf(client, step.sql, step.rows);
      case 'turn':
        await client.query('SELECT pg_advisory_xact_lock(hashtext($1))', [toPg(`mcp_pruner.${step.of}`)]);
        return this.nowMs();
      case 'erase':
        return erasePrunes(client, step.pruneIds);
      case 'save':
        throw new Error('originals are committed in a statement of their own');
      case 'append': {
        const before = await nextSeq(client, step.log, step.rows.length);
        const rows = step.rows.map((row, i) => [before + 1 + i, ...row]);
        await eachOf(client, insertionInto(step.log, `seq, ${step.columns}`), rows);
        return { last: before + rows.length, keep: this.#maxEvents } satisfies Appended;
      }
      case 'holdLog':
        return nextSeq(client, step.log, 0);
    }
  }
}

/** Takes the next numbers of a log, whose row stays locked until the commit; returns the last number before them. */
async function nextSeq(client: Queryable, log: string, count: number): Promise<number> {
  const [row] = await client.query<{ last: number }>('SELECT mcp_pruner.next_seq($1, $2) AS last', [log, count]);
  return row?.last ?? 0;
}

/** The rows of a statement in Common SQL, with their texts restored. */
async function allOf<Row>(client: Queryable, commonSql: string, values: readonly unknown[]): Promise<Row[]> {
  return restored(await client.query(translated(commonSql), values.map(stored)));
}

/** Executes a change in Common SQL; returns the number of changed rows. */
async function changeOf(client: Queryable, commonSql: string, values: readonly unknown[]): Promise<number> {
  const counted = `WITH changed AS (${translated(commonSql)} RETURNING 1) SELECT count(*) AS changes FROM changed`;
  const [row] = await client.query<{ changes: number }>(counted, values.map(stored));
  return row?.changes ?? 0;
}

/** Executes a change in Common SQL for each row of values; returns the rows of its RETURNING. */
async function eachOf<Row>(
  client: Queryable,
  commonSql: string,
  rows: readonly (readonly unknown[])[],
): Promise<Row[]> {
  const returned: Row[] = [];
  for (const { text, values } of statementsOf(commonSql, rows)) {
    returned.push(...restored<Row>(await client.query(text, values)));
  }
  return returned;
}

/** Builds as few statements as possible for the rows. */
function statementsOf(commonSql: string, rows: readonly (readonly unknown[])[]) {
  const width = rows[0]?.length ?? 0;
  const atOnce = manyRows(commonSql, 1) === null || width === 0 ? 1 : Math.floor(MAX_VALUES / width);
  const statements: { readonly text: string; readonly values: unknown[] }[] = [];
  for (let at = 0; at < rows.length; at += atOnce) {
    const some = rows.slice(at, at + atOnce);
    const text = some.length > 1 ? postgresStatement(manyRows(commonSql, some.length) ?? '') : translated(commonSql);
    statements.push({ text, values: some.flat().map(stored) });
  }
  return statements;
}

function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored);
  return typeof value === 'string' ? toPg(value) : value;
}

function restored<Row>(rows: Record<string, unknown>[]): Row[] {
  for (const row of rows) {
    for (const name of Object.keys(row)) {
      const value = row[name];
      if (typeof value === 'string') row[name] = fromPg(value);
    }
  }
  return rows as Row[];
}

/** Cache of translated statements; their number is small because their texts are constant. */
const translations = new Map<string, string>();

function translated(commonSql: string): string {
  const known = translations.get(commonSql) ?? postgresStatement(commonSql);
  translations.set(commonSql, known);
  return known;
}
