import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import type { KeyStore } from '../core/ports/keys.ts';
import type { ProjectSettingsStore } from '../core/ports/project-settings.ts';
import type { SegmentStore } from '../core/ports/segments.ts';
import type { Committed, LookedUp, LookUp, Store, StoreBatch } from '../core/ports.ts';
import type { StoreUnavailable } from '../errors/errors.ts';
import { CommonStore } from './common-store.ts';
import type { Erasure } from './erase/erasure.ts';
import type { StoreHandle, StoreOptions } from './handle.ts';
import { epochSlice, type Lifetimes, lifetimesOf } from './lifetimes.ts';
import { StoredSegments } from './segments.ts';
import { StoredProjectSettings } from './settings/project-settings.ts';
import { Access, BACKGROUND_WAIT_MS } from './sqlite/access.ts';
import { Batches } from './sqlite/batches.ts';
import { Checkpointer, ConnectionHolder } from './sqlite/connection-holder.ts';
import { FileSql } from './sqlite/file-sql.ts';
import { FileWatch } from './sqlite/file-watch.ts';
import { Generations } from './sqlite/generations.ts';
import { lookUpIn } from './sqlite/look-up.ts';
import { FileRecall } from './sqlite/recall-store.ts';
import { ScanThread } from './sqlite/scan-thread.ts';
import { FileSegmentReads } from './sqlite/segment-reads.ts';
import { Sweeper } from './sqlite/sweep.ts';
import type { Tables } from './sqlite/tables.ts';
import { intactText, withPackedTexts } from './text-codec.ts';

export interface SqliteStoreOptions extends StoreOptions {
  /** Database file, or `:memory:`. A missing folder is created. */
  readonly path: string;
  /** Durability of a commit: `full` survives a power cut, `normal` survives a killed process. */
  readonly sync?: 'normal' | 'full';
  /** Maximum file size; a write beyond it fails with `full`. Default: no limit. */
  readonly maxFileBytes?: number;
}

/**
 * A `Store` on one SQLite file, which several processes may share. Its `problem` is a `StoreFileError` if the file
 * cannot be opened: the message is one line for a terminal.
 */
export interface SqliteStore extends StoreHandle {
  readonly recall: FileRecall;
}

/**
 * Opens a store. Never throws because of the file: while it is unusable, methods reject with `StoreUnavailable`; they
 * recover without a restart.
 */
export function openSqliteStore(options: SqliteStoreOptions): SqliteStore {
  return new FileStore(options);
}

/**
 * Size of the cache of decompressed originals, in characters. A model often requests lines behind several markers of
 * one text, and unpacking 200 KB takes ten times as long as a cache hit.
 */
const OPENED_CHARS = 4_000_000;

class FileStore extends CommonStore implements SqliteStore {
  readonly segments: SegmentStore;
  readonly recall: FileRecall;
  readonly projectSettings: ProjectSettingsStore;
  /** Originals by text hash; they never change. Whether a prune still refers to one is checked on each read. */
  readonly #opened = new LRUCache<string, string>({
    maxSize: OPENED_CHARS,
    sizeCalculation: (text) => Math.max(1, text.length),
  });
  readonly #options: SqliteStoreOptions;
  readonly #lifetimes: Lifetimes;
  readonly #holder: ConnectionHolder;
  readonly #access: Access;
  readonly #checkpointer: Checkpointer | null;
  readonly #sweeper: Sweeper;
  readonly #watch: FileWatch;
  readonly #scanThread: ScanThread | null;
  readonly #batches: Batches;
  readonly #keyListeners = new Set<() => void>();
  readonly #generations: Generations;
  /** Size of the originals in bytes, read once after each write. */
  #storedBytes: number | null = null;

  constructor(options: SqliteStoreOptions) {
    const { clock, readonly = false, maxFileBytes = 0, sync = 'normal', log, parts = [] } = options;
    const path = options.path === ':memory:' ? options.path : resolve(options.path);
    const lifetimes = lifetimesOf(options);
    const holder = new ConnectionHolder({ path, readonly, maxFileBytes, sync, parts }, clock, log);
    const checkpointer = path === ':memory:' || readonly ? null : new Checkpointer(path, log);
    const generations = new Generations(holder);
    const onWritten = (): void => {
      generations.forget();
      this.#storedBytes = null;
    };
    const access = new Access({ holder, clock, lifetimes, readonly, checkpointer, onWritten });
    const { maxBytes, maxEvents, conversationShare = 1 } = options;
    const batches = new Batches(access, { ...lifetimes, maxBytes, conversationShare });
    const sql = new FileSql(access, maxEvents, (...save) => batches.save(...save));
    super(sql, lifetimes);
    this.#options = options;
    this.#lifetimes = lifetimes;
    this.#holder = holder;
    this.#generations = generations;
    this.#access = access;
    this.#checkpointer = checkpointer;
    this.#batches = batches;
    this.#scanThread = isMainThread && !readonly && path !== ':memory:' ? new ScanThread({ path }) : null;
    this.segments = new StoredSegments(sql, new FileSegmentReads(access, generations));
    this.recall = new FileRecall(access, sql, this.#scanThread);
    this.#watch = new FileWatch(() => this.#commitsOfOthers());
    this.projectSettings = new StoredProjectSettings(sql, (listener) => this.#watch.on(listener));
    this.#sweeper = new Sweeper(access, sql, checkpointer, options);
    holder.problem();
  }

  /** Waits while another process creates or upgrades the file, which locks it for seconds on a slow disk. */
  async ready(): Promise<void> {
    try {
      await this.#access.attempt(BACKGROUND_WAIT_MS, () => this.#holder.connection());
    } catch {
      // problem() reports failures
    }
  }

  problem(): StoreUnavailable | null {
    return this.#holder.problem();
  }

  /** Changes after a commit of another connection; `null` while the file cannot be read. */
  #commitsOfOthers(): string | null {
    try {
      return `${this.#holder.connection().commitsOfOthers()} ${this.#holder.serial}`;
    } catch {
      return null; // the next use of the store reports it
    }
  }

  /** Files have no notifications; refusals of other processes are read at start only. */
  onRefused(): () => void {
    return () => undefined;
  }

  onKeys(listener: () => void): () => void {
    const forget = this.#watch.on(listener);
    this.#keyListeners.add(listener);
    return () => {
      forget();
      this.#keyListeners.delete(listener);
    };
  }

  untilBack(): Promise<boolean> {
    return Promise.resolve(this.problem() === null);
  }

  failingSinceMs(): number | null {
    return this.#holder.writeFailure?.sinceMs ?? null;
  }

  pressed(): boolean {
    try {
      this.#storedBytes ??= this.#holder.connection().tables.meter('stored_bytes');
      return this.#storedBytes > this.#options.maxBytes;
    } catch {
      return false; // an unreadable store has nothing to evict
    }
  }

  async keys(): Promise<KeyStore> {
    const { StoredKeys } = await import('./keys.ts');
    return new StoredKeys(this.sql, () => {
      for (const listener of this.#keyListeners) listener();
    });
  }

  async erasure(): Promise<Erasure> {
    const [{ Erasure }, { fileScrubber }] = await Promise.all([
      import('./erase/erasure.ts'),
      import('./sqlite/scrub.ts'),
    ]);
    const { path, parts = [] } = this.#options;
    return new Erasure(this.sql, fileScrubber(this.#access, resolve(path)), parts, this.#lifetimes);
  }

  epoch(): string {
    return `${this.#generations.now.deleted}.${epochSlice(this.#access.nowMs(), this.#lifetimes)}`;
  }

  lookUp(query: LookUp): LookedUp | Promise<LookedUp> {
    return this.#access.readOnce((tables, nowMs) => lookUpIn(tables, query, this.#access, nowMs));
  }

  pack(batch: StoreBatch): StoreBatch | Promise<StoreBatch> {
    return withPackedTexts(batch);
  }

  commit(batch: StoreBatch, waitMs: number): Committed | Promise<Committed> {
    if (batch.decisions.length > 0 || (batch.sent?.length ?? 0) > 0) {
      return this.#access.writeNow((tables, nowMs) => this.#batches.save(tables, batch, nowMs), {
        waitMs,
        verify: true,
        enlargesFile: true,
      });
    }
    const touch = (tables: Tables, nowMs: number): string[] => this.#batches.touch(tables, batch, nowMs);
    const missing = this.#access.readNow(touch, { waitMs, verify: true });
    return missing instanceof Promise ? missing.then((ids) => this.#touched(ids)) : this.#touched(missing);
  }

  #touched(missing: readonly string[]): Committed {
    this.#access.writeUses();
    return { missing, refused: [], known: [] };
  }

  hasNoSent(prefixes: readonly string[]): boolean {
    try {
      return !this.#holder.connection().tables.sent.hasAny(prefixes);
    } catch {
      return false; // the caller then asks again, and gets the error
    }
  }

  async findOriginal(pruneId: string): Promise<string | null> {
    const found = await this.#access.read(({ decisions, snapshots }, nowMs) => {
      const row = decisions.prune(pruneId);
      if (!row || !this.#access.use('prune', pruneId, row.expires_ms, nowMs)) return null;
      const hash = snapshots.hashOf(row.snapshot) ?? '';
      const text = this.#opened.get(hash);
      return text === undefined ? { hash, stored: snapshots.read(row.snapshot) } : { text };
    });
    if (found?.text !== undefined) return found.text;
    if (!found?.stored) return null;
    const { hash, stored } = found;
    const text = await intactText({ ...stored, hash }, this.#options.hashOf);
    if (text === null) await this.#dropDamaged(hash, pruneId);
    else this.#opened.set(hash, text);
    return text;
  }

  /** Deletes a damaged text. The next turn of its conversation then stores it again. */
  async #dropDamaged(hash: string, pruneId: string): Promise<void> {
    const { readonly = false, log, onDamaged } = this.#options;
    const drop = (): Promise<string[]> => this.#access.write(({ decisions }) => decisions.removeText(hash));
    const gone = readonly ? [pruneId] : await drop().catch(() => [pruneId]); // the next read detects it again
    log?.warn({ pruneIds: gone }, 'damaged original');
    onDamaged?.(gone);
  }

  knownPruneIds(pruneIds: readonly string[]): Promise<Set<string>> {
    return this.#access.read(({ decisions }, nowMs) => {
      const until = decisions.prunesUntil(pruneIds);
      return new Set(pruneIds.filter((id) => this.#access.use('prune', id, until.get(id), nowMs)));
    });
  }

  async markServed(textHashes: readonly string[]): Promise<void> {
    if (textHashes.length === 0) return;
    await this.#access.write(({ marks }, nowMs) => {
      for (const hash of textHashes) marks.serve(hash, nowMs + this.#lifetimes.ttlMs);
    });
  }

  markRefused(prefixHash: string): Promise<void> {
    return this.#access.write(({ marks }, nowMs) => marks.refuse(prefixHash, nowMs + this.#lifetimes.sentTtlMs));
  }

  refusedConversations(): Promise<readonly string[]> {
    return this.#access.read(({ marks }, nowMs) => marks.refused(nowMs));
  }

  stats(): ReturnType<Store['stats']> {
    return this.#access.read(({ meter }) => ({
      prunes: meter('prunes'),
      snapshots: meter('snapshots'),
      bytes: meter('stored_bytes'),
    }));
  }

  async close(): Promise<void> {
    this.#access.writeUses();
    this.#generations.forget();
    this.#watch.close();
    await this.#scanThread?.close();
    this.#holder.close();
    await this.sweeping?.catch(() => undefined); // the sweep finds the store closed at its next step, and ends
    await this.#checkpointer?.close();
  }

  protected async sweepStep(): Promise<boolean> {
    await this.#tryWriting();
    const { more, ...did } = await this.#sweeper.step();
    if (did.expired + did.evicted > 0) {
      this.#options.log?.info(did, 'store swept');
      this.#options.onSwept?.(did);
    }
    return more;
  }

  /** While writes fail, requests may not write at all, so a trial write detects the recovery. */
  async #tryWriting(): Promise<void> {
    if (this.#holder.writeFailure === null || this.#options.readonly || this.pressed()) return;
    try {
      await this.#access.write(({ snapshots }) => snapshots.reserveRoom(), {
        waitMs: 0,
        verify: true,
        enlargesFile: true,
      });
      await this.#access.write(({ snapshots }) => snapshots.releaseRoom());
    } catch {
      // still failing; deletions by the sweep may help
    }
  }
}
