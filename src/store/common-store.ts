import type { ProjectStore } from '../core/ports/projects.ts';
import type {
  Decision,
  EventRecord,
  LookedUp,
  LookUp,
  SentMessage,
  Store,
  StoredEvent,
  StoredPrune,
} from '../core/ports.ts';
import { StoredBrowse } from './browse/lists.ts';
import { StoredCompactions } from './compactions/lists.ts';
import { encodeSent } from './decision-codec.ts';
import { StoredLedger } from './ledger.ts';
import type { Lifetimes } from './lifetimes.ts';
import { addEvents, listEvents } from './logs.ts';
import { findPrune } from './prune-rows.ts';
import { StoredRecords } from './records.ts';
import { each, type Rows, type Sql } from './sql/steps.ts';

const ADD_SENT = `INSERT INTO main.sent (prefix, body, expires_ms) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`;

/** Base class of both stores, with everything that is written in Common SQL. */
export abstract class CommonStore {
  readonly sql: Sql;
  readonly records: StoredRecords;
  readonly ledger: StoredLedger;
  readonly compactions: StoredCompactions;
  readonly browse: StoredBrowse;
  /** The running sweep; concurrent calls join it. */
  protected sweeping: Promise<boolean> | null = null;

  readonly #sentTtlMs: number;

  constructor(sql: Sql, { sentTtlMs }: Lifetimes) {
    this.sql = sql;
    this.#sentTtlMs = sentTtlMs;
    this.records = new StoredRecords(sql);
    this.ledger = new StoredLedger(sql);
    this.compactions = new StoredCompactions(sql);
    this.browse = new StoredBrowse(sql);
  }

  abstract lookUp(query: LookUp): LookedUp | Promise<LookedUp>;

  async findDecisions(keys: readonly string[]): Promise<Map<string, Decision>> {
    const { decisions } = await this.lookUp({ keys });
    return new Map(
      keys.flatMap((key): [string, Decision][] => {
        const decision = decisions.get(key);
        return decision ? [[key, decision]] : [];
      }),
    );
  }

  async findSent(prefixes: readonly string[]): Promise<Map<string, SentMessage>> {
    return (await this.lookUp({ prefixes })).sent;
  }

  async addSent(messages: readonly SentMessage[]): Promise<void> {
    const expiresMs = this.sql.nowMs() + this.#sentTtlMs;
    // in a fixed order, so that two processes cannot block each other
    const rows = new Map(messages.map((message) => [message.prefix, [message.prefix, encodeSent(message), expiresMs]]));
    const sorted = [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row);
    await this.sql.write(() => each(ADD_SENT, sorted), { background: 'sent' });
  }

  async wasServed(hashes: readonly string[]): Promise<Set<string>> {
    return (await this.lookUp({ hashes })).served;
  }

  protected abstract sweepStep(): Promise<boolean>;

  async projects(): Promise<ProjectStore> {
    const { StoredProjects } = await import('./projects.ts');
    return new StoredProjects(this.sql);
  }

  id(): Promise<string | null> {
    return storeIdIn(this.sql);
  }

  replaceNote(name: string, text: string): Promise<string | null> {
    return this.ledger.exchange(name, text);
  }

  findPrune(pruneId: string): Promise<StoredPrune | null> {
    return findPrune(this.sql, pruneId);
  }

  addEvents(events: readonly EventRecord[]): Promise<void> {
    if (events.length === 0) return Promise.resolve();
    return this.sql.write(() => addEvents(events), { background: 'events' });
  }

  events(query: Parameters<Store['events']>[0]): Promise<readonly StoredEvent[]> {
    return listEvents(this.sql, query);
  }

  sweep(): Promise<boolean> {
    this.sweeping ??= this.sweepStep().finally(() => {
      this.sweeping = null;
    });
    return this.sweeping;
  }
}

/**
 * Random id of a store, created with its schema and identical for all processes that use it; `null` if the store
 * predates ids. Reveals nothing about location or content.
 *
 * @throws StoreUnavailable
 */
async function storeIdIn(rows: Rows): Promise<string | null> {
  const found = await rows.all<{ readonly value: number }>("SELECT value FROM main.meter WHERE name = 'store_id'");
  return found[0]?.value.toString(36) ?? null;
}
