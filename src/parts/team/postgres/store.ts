import { LRUCache } from 'lru-cache';
import type { BrowseStore } from '../../../core/ports/browse.ts';
import type { CompactionStore } from '../../../core/ports/compactions.ts';
import type { KeyStore } from '../../../core/ports/keys.ts';
import type { ProjectSettingsStore } from '../../../core/ports/project-settings.ts';
import type { ProjectStore } from '../../../core/ports/projects.ts';
import type { RecallStore } from '../../../core/ports/recall.ts';
import type { Records } from '../../../core/ports/records.ts';
import type { SegmentStore } from '../../../core/ports/segments.ts';
import type { SentMessage } from '../../../core/ports/sent.ts';
import type { ShelfStore } from '../../../core/ports/shelf.ts';
import type {
  Committed,
  Decision,
  EventRecord,
  Store,
  StoreBatch,
  StoredEvent,
  StoredPrune,
} from '../../../core/ports.ts';
import { StoreUnavailable } from '../../../errors/errors.ts';
import { StoredBrowse } from '../../../store/browse/lists.ts';
import { StoredCompactions } from '../../../store/compactions/lists.ts';
import { decodeSent } from '../../../store/decision-codec.ts';
import type { Erasure } from '../../../store/erase/erasure.ts';
import type { StoreHandle, StoreOptions } from '../../../store/handle.ts';
import { StoredLedger } from '../../../store/ledger.ts';
import { epochSlice, type Lifetimes, lifetimesOf, PendingUses, roomLimit } from '../../../store/lifetimes.ts';
import { addEvents, listEvents } from '../../../store/logs.ts';
import { findPrune } from '../../../store/prune-rows.ts';
import { StoredRecords } from '../../../store/records.ts';
import { StoredSegments } from '../../../store/segments.ts';
import { StoredProjectSettings } from '../../../store/settings/project-settings.ts';
import { StoredShelf } from '../../../store/shelf/lists.ts';
import { storeIdIn } from '../../../store/store-id.ts';
import { type HashedText, intactText } from '../../../store/text-codec.ts';
import { Database } from './database.ts';
import { type DatabaseParts, DatabaseSql } from './database-sql.ts';
import {
  COMMIT,
  COMMIT_OWNED,
  type CommitRow,
  commitValues,
  type DecisionRow,
  decisionOf,
  FIND_DECISIONS,
  LOOK_UP,
  type LookUpRow,
} from './decisions.ts';
import { DatabaseRecall } from './recall-store.ts';
import { ReplicaView } from './replica-view.ts';
import { DatabaseSegmentReads } from './segment-reads.ts';
import { removeText, Sweeper } from './sweep.ts';
import { toPg } from './text.ts';
import { writeUses } from './uses.ts';

export interface PostgresStoreOptions extends StoreOptions {
  /** `postgres://user:password@host:5432/database?sslmode=verify-full`. Never logged. */
  readonly url: string;
  /** Maximum number of connections of this process. */
  readonly connections?: number;
  /** How long calls wait during an outage of the database, in milliseconds; default: 3 seconds. */
  readonly patienceMs?: number;
}

/** A `Store` on PostgreSQL, which any number of processes use at the same time. */
export interface PostgresStore extends StoreHandle {
  /** Number of round trips of this process so far. */
  readonly roundTrips: number;
  /** Checks now for changes by other processes, instead of on a notification or after a second. */
  refresh(): Promise<void>;
}

const BACKGROUND_WAIT_MS = 5_000;
/** Maximum number of prunes whose expiry this process remembers: their uses need no query. */
const MAX_SEEN = 200_000;
/** Decisions found by a commit or look-up, cached for the look-up that follows it. */
const MAX_CACHED_DECISIONS = 1_000;
const CACHED_DECISION_MS = 2_000;

/**
 * Opens the store. The database is contacted in the background; `ready` settles after the first attempt. Never throws
 * because of the database: while it is away, methods reject with `StoreUnavailable`, and methods that need no answer
 * keep working.
 */
export function openPostgresStore(options: PostgresStoreOptions): PostgresStore {
  return new DatabaseStore(options);
}

class DatabaseStore implements PostgresStore {
  readonly segments: SegmentStore;
  readonly records: Records;
  readonly ledger: StoredLedger;
  readonly recall: RecallStore;
  readonly compactions: CompactionStore;
  readonly projectSettings: ProjectSettingsStore;
  readonly shelf: ShelfStore;
  readonly browse: BrowseStore;
  readonly #options: PostgresStoreOptions;
  readonly #lifetimes: Lifetimes;
  readonly #database: Database;
  readonly #view: ReplicaView;
  readonly #uses: PendingUses;
  readonly sql: DatabaseSql;
  readonly #parts: DatabaseParts;
  readonly #sweeper: Sweeper;
  readonly #seen: LRUCache<string, number>;
  readonly #foundByCommit: LRUCache<string, Decision>;
  /** Decisions prefetched by `findSent` for the next `findDecisions`. */
  readonly #prefetched: LRUCache<string, { readonly row: DecisionRow | null }>;
  readonly #ready: Promise<void>;
  readonly #refusedListeners = new Set<() => void>();
  readonly #keyListeners = new Set<() => void>();
  readonly #settingsListeners = new Set<() => void>();
  #seenEpoch = '';
  #sweeping: Promise<boolean> | null = null;

  constructor(options: PostgresStoreOptions) {
    const { readonly = false, log } = options;
    this.#options = options;
    this.#lifetimes = lifetimesOf(options);
    this.#database = new Database({
      url: options.url,
      clock: options.clock,
      log,
      readonly,
      onAway: () => this.#view.hurry(),
      connections: options.connections,
      patienceMs: options.patienceMs,
      parts: options.parts,
    });
    this.#view = new ReplicaView({
      database: this.#database,
      onRefused: () => {
        for (const listener of this.#refusedListeners) listener();
      },
      onKeys: () => {
        for (const listener of this.#keyListeners) listener();
      },
      onSettings: () => {
        for (const listener of this.#settingsListeners) listener();
      },
    });
    this.#uses = new PendingUses(this.#lifetimes, readonly);
    this.#seen = new LRUCache({ max: MAX_SEEN });
    this.#foundByCommit = new LRUCache({ max: MAX_CACHED_DECISIONS, ttl: CACHED_DECISION_MS });
    this.#prefetched = new LRUCache({ max: MAX_CACHED_DECISIONS, ttl: CACHED_DECISION_MS });
    this.sql = new DatabaseSql(this.#database, options.clock, this.#uses, options.maxEvents);
    this.#parts = { database: this.#database, view: this.#view, rows: this.sql };
    this.segments = new StoredSegments(this.sql, new DatabaseSegmentReads(this.#parts));
    this.ledger = new StoredLedger(this.sql);
    this.recall = new DatabaseRecall(this.#parts, log, (...commit) => this.commit(...commit));
    this.compactions = new StoredCompactions(this.sql);
    this.projectSettings = new StoredProjectSettings(this.sql, (listener) => {
      this.#settingsListeners.add(listener);
      return () => this.#settingsListeners.delete(listener);
    });
    this.browse = new StoredBrowse(this.sql);
    this.shelf = new StoredShelf(this.sql);
    this.records = new StoredRecords(this.sql);
    this.#sweeper = new Sweeper(this.#database, this.sql, { ...options, ttlMs: this.#lifetimes.ttlMs });
    this.#ready = this.#view.start();
  }

  async projects(): Promise<ProjectStore> {
    const { StoredProjects } = await import('../../../store/projects.ts');
    return new StoredProjects(this.sql);
  }

  async keys(): Promise<KeyStore> {
    const { StoredKeys } = await import('../../../store/keys.ts');
    return new StoredKeys(this.sql);
  }

  async erasure(): Promise<Erasure> {
    const [{ Erasure }, { databaseScrubber }] = await Promise.all([
      import('../../../store/erase/erasure.ts'),
      import('./scrub.ts'),
    ]);
    const { parts = [] } = this.#options;
    return new Erasure(this.sql, databaseScrubber(this.#database, parts), parts, () => this.refresh());
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  get roundTrips(): number {
    return this.#database.roundTrips;
  }

  async refresh(): Promise<void> {
    await this.#view.pollAnew();
  }

  onKeys(listener: () => void): () => void {
    this.#keyListeners.add(listener);
    return () => this.#keyListeners.delete(listener);
  }

  replaceNote(name: string, text: string): Promise<string | null> {
    return this.ledger.exchange(name, text);
  }

  onRefused(listener: () => void): () => void {
    this.#refusedListeners.add(listener);
    return () => this.#refusedListeners.delete(listener);
  }

  problem(): StoreUnavailable | null {
    return this.#database.failure?.error ?? null;
  }

  untilBack(ms: number): Promise<boolean> {
    return this.#database.untilBack(ms);
  }

  failingSinceMs(): number | null {
    return this.#database.failure?.sinceMs ?? null;
  }

  pressed(): boolean {
    return this.#sweeper.pressed;
  }

  epoch(): string {
    return `${this.#view.deleted}.${epochSlice(this.sql.nowMs(), this.#lifetimes)}`;
  }

  async findDecisions(keys: readonly string[]): Promise<Map<string, Decision>> {
    const prefetched = new Map(keys.flatMap((key) => this.#takePrefetched(key)));
    const queried = keys.filter((key) => !this.#foundByCommit.has(key) && !prefetched.has(key));
    const rows =
      queried.length === 0 ? [] : await this.#database.query<DecisionRow>(FIND_DECISIONS, [queried.map(toPg)]);
    const byKey = new Map(rows.map((row) => [row.key, row]));
    const found = new Map<string, Decision>();
    const nowMs = this.sql.nowMs();
    for (const key of keys) {
      const row = byKey.get(key) ?? prefetched.get(key);
      const just = this.#foundByCommit.get(key);
      if (just) found.set(key, just);
      else if (row && this.#noteDecision(row, nowMs)) found.set(key, decisionOf(row));
    }
    return found;
  }

  async commit(batch: StoreBatch, waitMs: number): Promise<Committed> {
    const nowMs = this.sql.nowMs();
    if (batch.decisions.length + (batch.sent?.length ?? 0) === 0) {
      return { missing: await this.#touch(batch.touch, nowMs), refused: [], known: [] };
    }
    const { maxBytes, conversationShare = 1 } = this.#options;
    const limits = {
      nowMs,
      ...this.#lifetimes,
      waitMs,
      roomBytes: roomLimit(maxBytes),
      shareBytes: maxBytes * conversationShare,
    };
    const values = commitValues(batch, limits);
    const { owner } = batch;
    const rows =
      owner === undefined
        ? await this.#database.write<CommitRow>(COMMIT, values, waitMs, 'repeatable')
        : await this.#database.write<CommitRow>(COMMIT_OWNED, [...values, toPg(owner)], waitMs, 'repeatable');
    return this.#committed(batch, rows, nowMs);
  }

  async findSent(
    prefixes: readonly string[],
    prefetchKeys: () => readonly string[] = () => [],
  ): Promise<Map<string, SentMessage>> {
    const keys = prefetchKeys();
    const rows = await this.#database.query<LookUpRow>(LOOK_UP, [prefixes.map(toPg), keys.map(toPg)]);
    const decisions = new Map(
      rows.flatMap((row): [string, DecisionRow][] => (row.what === 'decision' ? [[row.key, row]] : [])),
    );
    for (const key of keys) this.#prefetched.set(key, { row: decisions.get(key) ?? null });
    const nowMs = this.sql.nowMs();
    const alive = rows.filter(
      ({ what, key, expires_ms }) => what === 'sent' && this.#uses.use('sent', key, expires_ms, nowMs),
    );
    return new Map(alive.map(({ key, body }) => [key, decodeSent(key, body ?? '')]));
  }

  findPrune(pruneId: string): Promise<StoredPrune | null> {
    return findPrune(this.sql, pruneId);
  }

  async findOriginal(pruneId: string): Promise<string | null> {
    const [row] = await this.#database.query<HashedText & { expires_ms: number }>(
      `SELECT s.hash, s.encoding, s.packing, s.text_bytes, s.data, p.expires_ms
       FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot s ON s.id = p.snapshot WHERE p.prune_id = $1`,
      [toPg(pruneId)],
    );
    if (!row || !this.#uses.use('prune', pruneId, row.expires_ms, this.sql.nowMs())) return null;
    const text = await intactText(row, this.#options.hashOf);
    if (text === null) await this.#dropDamaged(row.hash, pruneId);
    return text;
  }

  /** Deletes a damaged text. The next turn of its conversation then stores it again. */
  async #dropDamaged(hash: string, pruneId: string): Promise<void> {
    const { readonly = false, log, onDamaged } = this.#options;
    const drop = (): Promise<string[]> =>
      this.#database.transaction((client) => removeText(client, hash), BACKGROUND_WAIT_MS);
    const gone = readonly ? [pruneId] : await drop().catch(() => [pruneId]); // the next read finds it damaged again
    log?.warn({ pruneIds: gone }, 'damaged original');
    onDamaged?.(gone);
    await this.#view.pollAnew();
  }

  async knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>> {
    const missing = new Set(await this.#touch(pruneIds, this.sql.nowMs()));
    return new Set(pruneIds.filter((id) => !missing.has(id)));
  }

  async markServed(textHashes: readonly string[]): Promise<void> {
    if (textHashes.length === 0) return;
    const expiresMs = this.sql.nowMs() + this.#lifetimes.ttlMs;
    await this.#database.write(
      `WITH new AS (SELECT h, row_number() OVER (ORDER BY h) AS n FROM (SELECT DISTINCT unnest($1::text[]) AS h) x),
            base AS (SELECT mcp_pruner.next_seq('served', (SELECT count(*) FROM new)) AS seq)
       INSERT INTO mcp_pruner.served (id, hash, expires_ms) SELECT seq + n, h, $2 FROM new, base
       ON CONFLICT (hash) DO UPDATE SET id = excluded.id, expires_ms = greatest(served.expires_ms, excluded.expires_ms)`,
      [textHashes.map(toPg), expiresMs],
      undefined,
      'repeatable',
    );
    await this.#view.pollAnew();
  }

  wasServed(textHashes: readonly string[]): Promise<Set<string>> {
    // no query: every replica receives notifications of served texts
    if (this.#database.isClosed) return Promise.reject(new StoreUnavailable('closed'));
    const nowMs = this.sql.nowMs();
    return Promise.resolve(
      new Set(textHashes.filter((hash) => this.#uses.use('served', hash, this.#view.servedUntil(hash), nowMs))),
    );
  }

  async markRefused(prefixHash: string): Promise<void> {
    await this.#database.write(
      `INSERT INTO mcp_pruner.left_alone (id, prefix_hash, expires_ms)
       VALUES (mcp_pruner.next_seq('left_alone', 1) + 1, $1, $2)
       ON CONFLICT (prefix_hash) DO UPDATE SET id = excluded.id, expires_ms = excluded.expires_ms`,
      [toPg(prefixHash), this.sql.nowMs() + this.#lifetimes.sentTtlMs],
      undefined,
      'repeatable',
    );
  }

  async refusedConversations(): Promise<readonly string[]> {
    const rows = await this.#database.query<{ prefix_hash: string }>(
      'SELECT prefix_hash FROM mcp_pruner.left_alone WHERE expires_ms > $1 ORDER BY id DESC LIMIT 10000',
      [this.sql.nowMs()],
    );
    return rows.map(({ prefix_hash }) => prefix_hash);
  }

  async addEvents(events: readonly EventRecord[]): Promise<void> {
    if (events.length > 0) await this.sql.write(() => addEvents(events), { background: 'events' });
  }

  events(query: Parameters<Store['events']>[0]): Promise<readonly StoredEvent[]> {
    return listEvents(this.sql, query);
  }

  id(): Promise<string | null> {
    return storeIdIn(this.sql);
  }

  async stats(): ReturnType<Store['stats']> {
    const rows = await this.#database.query<{ name: string; value: number }>(
      `SELECT name, sum(value)::bigint AS value FROM (
         SELECT name, value FROM mcp_pruner.meter UNION ALL SELECT name, value FROM mcp_pruner.meter_delta) x
       WHERE name IN ('prunes', 'snapshots', 'stored_bytes') GROUP BY name`,
    );
    const of = (name: string): number => rows.find((row) => row.name === name)?.value ?? 0;
    return { prunes: of('prunes'), snapshots: of('snapshots'), bytes: of('stored_bytes') };
  }

  sweep(): Promise<boolean> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = null;
    });
    return this.#sweeping;
  }

  async close(): Promise<void> {
    if (!this.#options.readonly && !this.#database.isAway && !this.#database.isClosed) {
      await writeUses(this.#database, this.#uses).catch(() => undefined); // if lost, items only expire early
    }
    await this.#sweeping?.catch(() => undefined); // its caller handles the error
    await this.#view.close();
    await this.#database.close();
  }

  async #sweep(): Promise<boolean> {
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    const served = this.#uses.pending(MAX_CACHED_DECISIONS).some(({ kind }) => kind === 'served');
    const usesLeft = await writeUses(this.#database, this.#uses);
    if (served) await this.refresh(); // served texts with a new expiry have new numbers: read them at once
    const { more, ...did } = await this.#sweeper.step(this.sql.nowMs());
    if (did.expired + did.evicted > 0) {
      await this.refresh();
      this.#options.log?.info(did, 'store swept');
      this.#options.onSwept?.(did);
    }
    return more || usesLeft;
  }

  /** Records the use of prunes; queries only those that this process has not seen. Returns the missing ids. */
  async #touch(ids: readonly string[], nowMs: number): Promise<string[]> {
    this.#forgetOldEpoch();
    const missing: string[] = [];
    const queried: string[] = [];
    for (const id of new Set(ids)) {
      const storedMs = this.#seen.get(id);
      if (storedMs === undefined || !this.#uses.use('prune', id, storedMs, nowMs)) queried.push(id);
    }
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    if (queried.length > 0) {
      const rows = await this.#database.query<{ prune_id: string; expires_ms: number }>(
        'SELECT prune_id, expires_ms FROM mcp_pruner.prune WHERE prune_id = ANY ($1)',
        [queried.map(toPg)],
      );
      const found = new Map(rows.map((row) => [row.prune_id, row.expires_ms]));
      for (const id of queried) {
        const storedMs = found.get(toPg(id));
        if (!this.#uses.use('prune', id, storedMs, nowMs)) missing.push(id);
        else if (storedMs !== undefined) this.#seen.set(id, storedMs);
      }
    }
    return missing;
  }

  #committed(batch: StoreBatch, rows: readonly CommitRow[], nowMs: number): Committed {
    this.#forgetOldEpoch();
    const of = (what: CommitRow['what']): CommitRow[] => rows.filter((row) => row.what === what);
    const refused = of('refused').map(({ id }) => id);
    const known = of('known').map(({ id }) => id);
    for (const { id, prune_id, body, until_ms } of of('known')) {
      const row = { key: id, prune_id, body, expires_ms: until_ms ?? 0 };
      if (this.#noteDecision(row, nowMs)) this.#foundByCommit.set(id, decisionOf(row));
    }
    if (!(batch.wholeOrNothing && refused.length > 0)) {
      for (const { decision } of batch.decisions) {
        const { pruneId, key } = decision;
        if (pruneId === null || refused.includes(key)) continue;
        if (known.includes(key)) this.#uses.use('prune', pruneId, this.#seen.get(pruneId), nowMs);
        else this.#seen.set(pruneId, nowMs + this.#lifetimes.ttlMs);
      }
    }
    for (const { id, until_ms } of of('alive')) this.#uses.use('prune', id, until_ms ?? undefined, nowMs);
    const missing = of('missing').filter(
      ({ id, until_ms }) => !this.#uses.use('prune', id, until_ms ?? undefined, nowMs),
    );
    for (const { id, until_ms } of [...of('sent_same'), ...of('sent_before')]) {
      this.#uses.use('sent', id, until_ms ?? undefined, nowMs);
    }
    const sentBefore = of('sent_before').map(({ id }) => id);
    return {
      missing: missing.map(({ id }) => id),
      refused,
      known,
      sentBefore: sentBefore.length > 0 ? sentBefore : undefined,
    };
  }

  /**
   * The prefetched result for a decision, consumed once: `null` means it does not exist, an empty list means it was not
   * prefetched.
   */
  #takePrefetched(key: string): [string, DecisionRow | null][] {
    const prefetched = this.#prefetched.get(key);
    this.#prefetched.delete(key);
    return prefetched ? [[key, prefetched.row]] : [];
  }

  /** Records the use of a decision that was read; `false` if it has expired. */
  #noteDecision({ key, prune_id, expires_ms }: DecisionRow, nowMs: number): boolean {
    if (prune_id === null) return this.#uses.use('whole', key, expires_ms, nowMs);
    if (!this.#uses.use('prune', prune_id, expires_ms, nowMs)) return false;
    this.#seen.set(prune_id, expires_ms);
    return true;
  }

  /** Cached rows are valid only until the next deletion. */
  #forgetOldEpoch(): void {
    const epoch = this.#view.deleted;
    if (epoch !== this.#seenEpoch) this.#seen.clear();
    this.#seenEpoch = epoch;
  }
}
