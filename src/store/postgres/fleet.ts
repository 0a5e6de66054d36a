import type { FleetAccess, Step, Steps } from '../fleet/steps.ts';
import { addChildLogs } from './child-logs.ts';
import type { Queryable } from './database.ts';
import { addEvents } from './events.ts';
import type { DatabaseParts } from './record-store.ts';
import { fromPg, toPg } from './text.ts';

/** Whoever changes the fleet holds this advisory lock of the database ("mcpf"): its changes come one after the other. */
const LOCK = 0x6d637066;
/** A call of the fleet is no model request: it may wait for those before it. */
const WAIT_MS = 10_000;

/**
 * The fleet's transactions on a database. They are serial, as on a file: what was checked still holds when it is written,
 * whichever replica does it, and versions follow each other without a gap.
 */
export class DatabaseFleet implements FleetAccess {
  readonly #parts: DatabaseParts;
  readonly #maxEvents: number;

  /** @param maxEvents - how many events, and lines of agents, are kept */
  constructor(parts: DatabaseParts, maxEvents: number) {
    this.#parts = parts;
    this.#maxEvents = maxEvents;
  }

  read<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    const { database, nowMs } = this.#parts;
    return database.snapshot((client) => this.#run(client, work(nowMs())), WAIT_MS);
  }

  write<T>(work: (nowMs: number) => Steps<T>): Promise<T> {
    const { database, nowMs } = this.#parts;
    return database.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [LOCK]);
      return this.#run(client, work(nowMs()));
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
        return (await client.query(spelled(step.sql), step.values.map(stored))).map(read);
      case 'change': {
        const [row] = await client.query<{ changes: number }>(counted(step.sql), step.values.map(stored));
        return row?.changes ?? 0;
      }
      case 'events':
        if (this.#maxEvents > 0) await addEvents(client, step.events, this.#maxEvents);
        return undefined;
      case 'logs':
        return addChildLogs(client, step.lines, this.#maxEvents);
    }
  }
}

const stored = (value: unknown): unknown => (typeof value === 'string' ? toPg(value) : value);

function read(row: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, typeof value === 'string' ? fromPg(value) : value]),
  );
}

/** Statements as PostgreSQL takes them, by how `Step` writes them; their texts are constant, hence few. */
const spellings = new Map<string, string>();

function spelled(sql: string): string {
  const known = spellings.get(sql);
  if (known !== undefined) return known;
  let values = 0;
  const text = sql
    .replace(/\bLIST\(\?\)/g, '(SELECT jsonb_array_elements_text(?::text::jsonb))')
    .replace(/\bfleet_/g, 'mcp_pruner.fleet_')
    .replace(/\?/g, () => `$${++values}`);
  spellings.set(sql, text);
  return text;
}

/** The statement, answered with how many rows it changed. */
function counted(sql: string): string {
  return `WITH changed AS (${spelled(sql)} RETURNING 1) SELECT count(*) AS changes FROM changed`;
}
