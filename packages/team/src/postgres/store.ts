import type { KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { ProjectSettingsStore } from 'mcp-pruner/core/ports/project-settings.ts';
import type { RecallStore } from 'mcp-pruner/core/ports/recall.ts';
import type { SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import type { Committed, LookedUp, LookUp, Store, StoreBatch } from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { CommonStore } from 'mcp-pruner/store/common-store.ts';
import { decodeSent } from 'mcp-pruner/store/decision-codec.ts';
import type { Erasure } from 'mcp-pruner/store/erase/erasure.ts';
import type { StoreHandle, StoreOptions } from 'mcp-pruner/store/handle.ts';
import { epochSlice, type Lifetimes, lifetimesOf, PendingUses, roomLimit } from 'mcp-pruner/store/lifetimes.ts';
import { StoredSegments } from 'mcp-pruner/store/segments.ts';
import { StoredProjectSettings } from 'mcp-pruner/store/settings/project-settings.ts';
import { type HashedText, intactText } from 'mcp-pruner/store/text-codec.ts';
import { Database } from './database.ts';
import { DatabaseSql } from './database-sql.ts';
import { COMMIT, COMMIT_OWNED, type CommitRow, commitValues, LOOK_UP, type LookUpRow } from './decisions.ts';
import { KnownPrunes } from './known-prunes.ts';
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
  /** How long calls wait during a database outage, in milliseconds. Default: 3 seconds. */
  readonly patienceMs?: number;
}

/** A `Store` on PostgreSQL, shared by any number of processes. */
export interface PostgresStore extends StoreHandle {
  readonly roundTrips: number;
  /** Checks for changes by other processes now, without waiting for a notification or poll. */
  refresh(): Promise<void>;
}

const BACKGROUND_WAIT_MS = 5_000;
/** Maximum number of pending uses that are searched. */
const MAX_PENDING = 1_000;

/**
 * Opens the store. The database is contacted in the background; `ready` settles after the first attempt. Never throws
 * because of the database: while it is unreachable, methods reject with `StoreUnavailable`, except methods that need no
 * answer.
 */
export function openPostgresStore(options: PostgresStoreOptions): PostgresStore {
  return new DatabaseStore(options);
}

class DatabaseStore extends CommonStore implements PostgresStore {
  readonly segments: SegmentStore;
  readonly recall: RecallStore;
  readonly projectSettings: ProjectSettingsStore;
  readonly #options: PostgresStoreOptions;
  readonly #lifetimes: Lifetimes;
  readonly #database: Database;
  readonly #view: ReplicaView;
  readonly #uses: PendingUses;
  readonly #sweeper: Sweeper;
  readonly #known: KnownPrunes;
  readonly #ready: Promise<void>;
  readonly #refusedListeners = new Set<() => void>();
  readonly #keyListeners = new Set<() => void>();
  readonly #settingsListeners = new Set<() => void>();

  constructor(options: PostgresStoreOptions) {
    const { readonly = false, log, url, clock, connections, patienceMs, parts } = options;
    const lifetimes = lifetimesOf(options);
    const onAway = () => this.#view.hurry();
    const database = new Database({ url, clock, log, readonly, onAway, connections, patienceMs, parts });
    const uses = new PendingUses(lifetimes, readonly);
    const sql = new DatabaseSql(database, clock, uses, options.maxEvents);
    super(sql, lifetimes);
    this.#options = options;
    this.#lifetimes = lifetimes;
    this.#database = database;
    this.#uses = uses;
    this.#view = new ReplicaView({
      database,
      onRefused: () => callAll(this.#refusedListeners),
      onKeys: () => callAll(this.#keyListeners),
      onSettings: () => callAll(this.#settingsListeners),
    });
    this.#known = new KnownPrunes(database, uses, lifetimes, () => this.#view.deleted);
    const dependencies = { database, view: this.#view, rows: sql };
    this.segments = new StoredSegments(sql, new DatabaseSegmentReads(dependencies));
    this.recall = new DatabaseRecall(dependencies, (...commit) => this.commit(...commit), options.readonly ?? false);
    this.projectSettings = new StoredProjectSettings(sql, (listener) => listening(this.#settingsListeners, listener));
    this.#sweeper = new Sweeper(database, sql, { ...options, ttlMs: lifetimes.ttlMs });
    this.#ready = this.#view.start();
  }

  async keys(): Promise<KeyStore> {
    const { StoredKeys } = await import('mcp-pruner/store/keys.ts');
    return new StoredKeys(this.sql);
  }

  async erasure(): Promise<Erasure> {
    const [{ Erasure }, { databaseScrubber }] = await Promise.all([
      import('mcp-pruner/store/erase/erasure.ts'),
      import('./scrub.ts'),
    ]);
    const { parts = [] } = this.#options;
    return new Erasure(this.sql, databaseScrubber(this.#database, parts), parts, this.#lifetimes, () => this.refresh());
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
    return listening(this.#keyListeners, listener);
  }

  onRefused(listener: () => void): () => void {
    return listening(this.#refusedListeners, listener);
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

  lookUp({ prefixes = [], keys = [], hashes = [] }: LookUp): LookedUp | Promise<LookedUp> {
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    const nowMs = this.sql.nowMs();
    // served texts need no query, because every replica is notified of them
    const served = new Set(
      hashes.filter((hash) => this.#uses.use('served', hash, this.#view.servedUntil(hash), nowMs)),
    );
    if (prefixes.length + keys.length === 0) return { sent: new Map(), decisions: new Map(), served };
    return this.#lookUp(prefixes, keys, served);
  }

  async #lookUp(prefixes: readonly string[], keys: readonly string[], served: Set<string>): Promise<LookedUp> {
    const rows = await this.#database.query<LookUpRow>(LOOK_UP, [prefixes.map(toPg), keys.map(toPg)]);
    const nowMs = this.sql.nowMs();
    const alive = rows.filter(
      ({ what, key, expires_ms }) => what === 'sent' && this.#uses.use('sent', key, expires_ms, nowMs),
    );
    return {
      sent: new Map(alive.map(({ key, body }) => [key, decodeSent(key, body ?? '')])),
      decisions: this.#known.decisionsIn(
        rows.filter(({ what }) => what === 'decision'),
        nowMs,
      ),
      served,
    };
  }

  async commit(batch: StoreBatch, waitMs: number): Promise<Committed> {
    const nowMs = this.sql.nowMs();
    if (batch.decisions.length + (batch.sent?.length ?? 0) === 0) {
      return { missing: await this.#known.touch(batch.touch, nowMs), refused: [], known: [] };
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
    return this.#known.committed(batch, rows, nowMs);
  }

  async findOriginal(pruneId: string): Promise<string | null> {
    const [row] = await this.#database.query<HashedText & { snapshot: number; expires_ms: number }>(
      `SELECT s.id AS snapshot, s.hash, s.encoding, s.packing, s.text_bytes, s.data, p.expires_ms
       FROM mcp_pruner.prune p JOIN mcp_pruner.snapshot s ON s.id = p.snapshot WHERE p.prune_id = $1`,
      [toPg(pruneId)],
    );
    if (!row || !this.#uses.use('prune', pruneId, row.expires_ms, this.sql.nowMs())) return null;
    const text = await intactText(row, this.#options.hashOf);
    if (text === null) await this.#dropDamaged(row.snapshot, pruneId);
    return text;
  }

  /** Deletes a damaged text. The next turn of its conversation then stores it again. */
  async #dropDamaged(snapshot: number, pruneId: string): Promise<void> {
    const { readonly = false, log, onDamaged } = this.#options;
    const drop = (): Promise<string[]> =>
      this.#database.transaction((client) => removeText(client, snapshot), BACKGROUND_WAIT_MS);
    const gone = readonly ? [pruneId] : await drop().catch(() => [pruneId]); // on failure, the next read detects the damage again
    log?.warn({ pruneIds: gone }, 'damaged original');
    onDamaged?.(gone);
    await this.#view.pollAnew();
  }

  async knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>> {
    const missing = new Set(await this.#known.touch(pruneIds, this.sql.nowMs()));
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

  async stats(): ReturnType<Store['stats']> {
    const rows = await this.#database.query<{ name: string; value: number }>(
      `SELECT name, sum(value)::bigint AS value FROM (
         SELECT name, value FROM mcp_pruner.meter UNION ALL SELECT name, value FROM mcp_pruner.meter_delta) x
       WHERE name IN ('prunes', 'snapshots', 'stored_bytes') GROUP BY name`,
    );
    const of = (name: string): number => rows.find((row) => row.name === name)?.value ?? 0;
    return { prunes: of('prunes'), snapshots: of('snapshots'), bytes: of('stored_bytes') };
  }

  async close(): Promise<void> {
    if (!this.#options.readonly && !this.#database.isAway && !this.#database.isClosed) {
      await writeUses(this.#database, this.#uses).catch(() => undefined); // if lost, items only expire early
    }
    await this.sweeping?.catch(() => undefined); // errors are handled by its caller
    await this.#view.close();
    await this.#database.close();
  }

  protected async sweepStep(): Promise<boolean> {
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    const served = this.#uses.pending(MAX_PENDING).some(({ kind }) => kind === 'served');
    const usesLeft = await writeUses(this.#database, this.#uses);
    if (served) await this.refresh(); // served texts with a new expiry have new numbers, so read them at once
    const { more, ...did } = await this.#sweeper.step(this.sql.nowMs());
    if (did.expired + did.evicted > 0) {
      await this.refresh();
      this.#options.log?.info(did, 'store swept');
      this.#options.onSwept?.(did);
    }
    return more || usesLeft;
  }
}

function callAll(listeners: ReadonlySet<() => void>): void {
  for (const listener of listeners) listener();
}

function listening(listeners: Set<() => void>, listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
