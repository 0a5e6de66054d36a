import type { Steps, Transactions } from 'mcp-pruner/store/sql/steps.ts';
import { openText, packText } from 'mcp-pruner/store/text-codec.ts';
import type {
  CommitOutcome,
  FleetEvent,
  GraphCommit,
  GraphHead,
  GraphLock,
  GraphSnapshot,
  GraphStore,
  GraphVersion,
  OpenTransaction,
} from '../ports.ts';
import { GraphTable, type StoredText } from './graph-table.ts';
import { recordEvents } from './record.ts';

const graphs = new GraphTable();

/** `GraphStore` on the tables of either database. */
export class StoredGraphs implements GraphStore {
  readonly #access: Transactions;

  constructor(access: Transactions) {
    this.#access = access;
  }

  head(graphId: string): Promise<GraphHead | null> {
    return this.#access.read(() => graphs.head(graphId));
  }

  heads({ prefix, limit }: Parameters<GraphStore['heads']>[0]): Promise<readonly GraphHead[]> {
    return this.#access.read(() => graphs.heads(prefix, limit));
  }

  versions({ prefix, limit }: Parameters<GraphStore['versions']>[0]): Promise<readonly GraphHead[]> {
    return this.#access.read(() => graphs.versions(prefix, limit));
  }

  async version(graphId: string, version: number): Promise<GraphVersion | null> {
    const stored = await this.#access.read(() => graphs.version(graphId, version));
    return stored && { text: await unpacked(stored), committedMs: stored.committedMs };
  }

  async commit(commit: GraphCommit): Promise<CommitOutcome> {
    const { graphId, baseVersion, owner, note, txId, isTransaction, events } = commit;
    const text = commit.text === null ? null : packed(commit.text);
    return this.#access.write(function* (nowMs): Steps<CommitOutcome> {
      const lock = yield* graphs.activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      if (isTransaction && (yield* graphs.open(txId)) === null) return { kind: 'gone' };
      const head = yield* graphs.head(graphId);
      if ((head?.version ?? 0) !== baseVersion) return { kind: 'conflict', found: head?.version ?? 0 };
      if (head === null && text !== null && !(yield* graphs.hasRoom())) return { kind: 'full' };
      const version = text === null ? baseVersion : baseVersion + 1;
      if (text !== null) yield* graphs.addVersion(graphId, version, text, nowMs);
      if (isTransaction) yield* graphs.end(txId, 'committed', version, nowMs);
      else if (text !== null) {
        const state = 'committed';
        const about = { graphId, txId, baseVersion, owner, note, finalVersion: version, expiresMs: null };
        yield* graphs.addSnapshot({ ...about, state, startedMs: nowMs, endedMs: nowMs }, null);
      }
      yield* recordEvents(events(version), nowMs);
      return { kind: 'committed', version, committedMs: text === null ? (head?.committedMs ?? nowMs) : nowMs };
    });
  }

  activeLock(graphId: string): Promise<GraphLock | null> {
    return this.#access.read((nowMs) => graphs.activeLock(graphId, nowMs));
  }

  lock(
    { graphId, holder, ttlMs, newId }: Parameters<GraphStore['lock']>[0],
    events: (lock: GraphLock) => readonly FleetEvent[],
  ): Promise<GraphLock> {
    return this.#access.write(function* (nowMs) {
      const active = yield* graphs.activeLock(graphId, nowMs);
      if (active !== null && active.holder !== holder) return active;
      const lock: GraphLock = {
        lockId: active?.lockId ?? newId,
        graphId,
        holder,
        acquiredMs: active?.acquiredMs ?? nowMs,
        refreshedMs: nowMs,
        expiresMs: ttlMs === null ? null : nowMs + ttlMs,
      };
      yield* graphs.putLock(lock);
      yield* recordEvents(events(lock), nowMs);
      return lock;
    });
  }

  unlock(lockId: string, events: (lock: GraphLock, expired: boolean) => readonly FleetEvent[]) {
    return this.#access.write(function* (nowMs) {
      const lock = yield* graphs.lock(lockId);
      if (lock === null) return null;
      const expired = lock.expiresMs !== null && lock.expiresMs <= nowMs;
      yield* graphs.dropLock(lockId);
      yield* recordEvents(events(lock, expired), nowMs);
      return { lock, expired, releasedMs: nowMs };
    });
  }

  async begin(request: Parameters<GraphStore['begin']>[0], events: readonly FleetEvent[]) {
    const { graphId, txId, baseVersion, owner, note, ttlMs } = request;
    const text = request.text === null ? null : packed(request.text);
    return this.#access.write(function* (nowMs): Steps<Awaited<ReturnType<GraphStore['begin']>>> {
      const lock = yield* graphs.activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      const found = (yield* graphs.head(graphId))?.version ?? 0;
      if (found !== baseVersion) return { kind: 'conflict', found };
      if (!(yield* graphs.hasRoomToOpen(graphId))) return { kind: 'full' };
      const snapshot: GraphSnapshot = {
        graphId,
        txId,
        baseVersion,
        startedMs: nowMs,
        state: 'pending',
        endedMs: null,
        finalVersion: null,
        owner,
        note,
        expiresMs: ttlMs === null ? null : nowMs + ttlMs,
      };
      yield* graphs.addSnapshot(snapshot, text);
      yield* recordEvents(events, nowMs);
      return { kind: 'begun', snapshot };
    });
  }

  async transaction(
    txId: string,
    expired: (snapshot: GraphSnapshot) => readonly FleetEvent[],
  ): Promise<OpenTransaction | 'expired' | null> {
    const { row, isOver } = await this.#access.read(function* (nowMs) {
      const open = yield* graphs.open(txId);
      return { row: open, isOver: open !== null && open.expiresMs !== null && open.expiresMs <= nowMs };
    });
    if (isOver) {
      await this.#expire(txId, expired);
      return 'expired';
    }
    if (row === null) {
      const ended = await this.#access.read(() => graphs.snapshot(txId));
      return ended?.state === 'expired' ? 'expired' : null;
    }
    const { bytes, packed: isPacked, data, revision, ...snapshot } = row;
    const text =
      bytes === null || isPacked === null || data === null ? null : await unpacked({ bytes, packed: isPacked, data });
    return { ...snapshot, revision, text };
  }

  async stage(txId: string, revision: number, text: string, owner: string | null) {
    const stored = packed(text);
    return this.#access.write(function* (nowMs): Steps<'staged' | 'stale' | { readonly lock: GraphLock }> {
      const open = yield* graphs.open(txId);
      const lock = open && (yield* graphs.activeLock(open.graphId, nowMs));
      if (lock && lock.holder !== owner) return { lock };
      return (yield* graphs.stage(txId, revision, stored)) ? 'staged' : 'stale';
    });
  }

  rollback(txId: string, events: readonly FleetEvent[]): Promise<GraphSnapshot | null> {
    return this.#access.write(function* (nowMs) {
      if ((yield* graphs.open(txId)) === null) return null;
      yield* graphs.end(txId, 'rolled_back', null, nowMs);
      yield* recordEvents(events, nowMs);
      return yield* graphs.snapshot(txId);
    });
  }

  snapshot(graphId: string, txId: string): Promise<GraphSnapshot | null> {
    return this.#access.read(function* () {
      const found = yield* graphs.snapshot(txId);
      return found?.graphId === graphId ? found : null;
    });
  }

  snapshots({ prefix, limit }: Parameters<GraphStore['snapshots']>[0]): Promise<readonly GraphSnapshot[]> {
    return this.#access.read(() => graphs.snapshots(prefix, limit));
  }

  async sweep(expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void> {
    await this.#access.write(function* (nowMs) {
      for (const snapshot of yield* graphs.overdue(nowMs)) {
        yield* graphs.end(snapshot.txId, 'expired', null, nowMs);
        yield* recordEvents(expired(snapshot), nowMs);
      }
      yield* graphs.sweep(nowMs);
    });
  }

  async #expire(txId: string, expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void> {
    await this.#access.write(function* (nowMs) {
      const open = yield* graphs.open(txId);
      if (open === null) return; // already recorded by another call
      yield* graphs.end(txId, 'expired', null, nowMs);
      yield* recordEvents(expired(open), nowMs);
    });
  }
}

function packed(text: string): StoredText {
  const { text_bytes: bytes, packing, data } = packText(text.toWellFormed());
  return { bytes, packed: packing, data };
}

function unpacked({ bytes, packed: packing, data }: StoredText): Promise<string> {
  return openText({ encoding: 0, packing, text_bytes: bytes, data });
}
