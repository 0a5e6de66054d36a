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
} from '../../../core/ports/fleet.ts';
import { PACK_FROM_BYTES, packBytes, unpackBytes } from '../../text-codec.ts';
import type { FleetAccess } from './fleet-tables.ts';
import { type StoredText, snapshotOf } from './graph-table.ts';

/** `GraphStore` on SQLite. */
export class FileGraphs implements GraphStore {
  readonly #access: FleetAccess;

  constructor(access: FleetAccess) {
    this.#access = access;
  }

  head(graphId: string): Promise<GraphHead | null> {
    return this.#access.read(({ graphs }) => graphs.head(graphId));
  }

  heads({ prefix, limit }: Parameters<GraphStore['heads']>[0]): Promise<readonly GraphHead[]> {
    return this.#access.read(({ graphs }) => graphs.heads(prefix, limit));
  }

  async version(graphId: string, version: number): Promise<GraphVersion | null> {
    const stored = await this.#access.read(({ graphs }) => graphs.version(graphId, version));
    return stored && { text: await unpacked(stored), committedMs: stored.committedMs };
  }

  async commit(commit: GraphCommit): Promise<CommitOutcome> {
    const { graphId, baseVersion, owner, note, txId, isTransaction, events } = commit;
    const text = commit.text === null ? null : await packed(commit.text);
    return this.#access.write<CommitOutcome>(({ graphs }, nowMs, tell) => {
      const lock = graphs.activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      if (isTransaction && graphs.open(txId) === null) return { kind: 'gone' };
      const head = graphs.head(graphId);
      if ((head?.version ?? 0) !== baseVersion) return { kind: 'conflict', found: head?.version ?? 0 };
      if (head === null && text !== null && !graphs.hasRoom()) return { kind: 'full' };
      const version = text === null ? baseVersion : baseVersion + 1;
      if (text !== null) graphs.addVersion(graphId, version, text, nowMs);
      if (isTransaction) graphs.end(txId, 'committed', version, nowMs);
      else if (text !== null) {
        const state = 'committed';
        const about = { graphId, txId, baseVersion, owner, note, finalVersion: version, expiresMs: null };
        graphs.addSnapshot({ ...about, state, startedMs: nowMs, endedMs: nowMs }, null);
      }
      tell(events(version));
      return { kind: 'committed', version, committedMs: text === null ? (head?.committedMs ?? nowMs) : nowMs };
    });
  }

  activeLock(graphId: string): Promise<GraphLock | null> {
    return this.#access.read(({ graphs }, nowMs) => graphs.activeLock(graphId, nowMs));
  }

  lock(
    { graphId, holder, ttlMs, newId }: Parameters<GraphStore['lock']>[0],
    events: (lock: GraphLock) => readonly FleetEvent[],
  ): Promise<GraphLock> {
    return this.#access.write(({ graphs }, nowMs, tell) => {
      const active = graphs.activeLock(graphId, nowMs);
      if (active !== null && active.holder !== holder) return active;
      const lock: GraphLock = {
        lockId: active?.lockId ?? newId,
        graphId,
        holder,
        acquiredMs: active?.acquiredMs ?? nowMs,
        refreshedMs: nowMs,
        expiresMs: ttlMs === null ? null : nowMs + ttlMs,
      };
      graphs.putLock(lock);
      tell(events(lock));
      return lock;
    });
  }

  unlock(lockId: string, events: (lock: GraphLock, expired: boolean) => readonly FleetEvent[]) {
    return this.#access.write(({ graphs }, nowMs, tell) => {
      const lock = graphs.lock(lockId);
      if (lock === null) return null;
      const expired = lock.expiresMs !== null && lock.expiresMs <= nowMs;
      graphs.dropLock(lockId);
      tell(events(lock, expired));
      return { lock, expired, releasedMs: nowMs };
    });
  }

  async begin(asked: Parameters<GraphStore['begin']>[0], events: readonly FleetEvent[]) {
    const { graphId, txId, baseVersion, owner, note, ttlMs } = asked;
    const text = asked.text === null ? null : await packed(asked.text);
    return this.#access.write<Awaited<ReturnType<GraphStore['begin']>>>(({ graphs }, nowMs, tell) => {
      const lock = graphs.activeLock(graphId, nowMs);
      if (lock !== null && lock.holder !== owner) return { kind: 'locked', lock };
      const found = graphs.head(graphId)?.version ?? 0;
      if (found !== baseVersion) return { kind: 'conflict', found };
      if (!graphs.hasRoomToOpen(graphId)) return { kind: 'full' };
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
      graphs.addSnapshot(snapshot, text);
      tell(events);
      return { kind: 'begun', snapshot };
    });
  }

  async transaction(
    txId: string,
    expired: (snapshot: GraphSnapshot) => readonly FleetEvent[],
  ): Promise<OpenTransaction | 'expired' | null> {
    const { row, isOver } = await this.#access.read(({ graphs }, nowMs) => {
      const open = graphs.open(txId);
      return { row: open, isOver: open !== null && open.expires_ms !== null && open.expires_ms <= nowMs };
    });
    if (isOver) {
      await this.#expire(txId, expired);
      return 'expired';
    }
    if (row === null) {
      const ended = await this.#access.read(({ graphs }) => graphs.snapshot(txId));
      return ended?.state === 'expired' ? 'expired' : null;
    }
    const { bytes, packed: isPacked, data } = row;
    const text =
      bytes === null || isPacked === null || data === null ? null : await unpacked({ bytes, packed: isPacked, data });
    return { ...snapshotOf(row), revision: row.revision, text };
  }

  async stage(txId: string, revision: number, text: string, owner: string | null) {
    const stored = await packed(text);
    return this.#access.write<'staged' | 'stale' | { readonly lock: GraphLock }>(({ graphs }, nowMs) => {
      const open = graphs.open(txId);
      const lock = open && graphs.activeLock(open.graph_id, nowMs);
      if (lock && lock.holder !== owner) return { lock };
      return graphs.stage(txId, revision, stored) ? 'staged' : 'stale';
    });
  }

  rollback(txId: string, events: readonly FleetEvent[]): Promise<GraphSnapshot | null> {
    return this.#access.write(({ graphs }, nowMs, tell) => {
      if (graphs.open(txId) === null) return null;
      graphs.end(txId, 'rolled_back', null, nowMs);
      tell(events);
      return graphs.snapshot(txId);
    });
  }

  snapshot(graphId: string, txId: string): Promise<GraphSnapshot | null> {
    return this.#access.read(({ graphs }) => {
      const found = graphs.snapshot(txId);
      return found?.graphId === graphId ? found : null;
    });
  }

  snapshots({ prefix, limit }: Parameters<GraphStore['snapshots']>[0]): Promise<readonly GraphSnapshot[]> {
    return this.#access.read(({ graphs }) => graphs.snapshots(prefix, limit));
  }

  async sweep(expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void> {
    await this.#access.write(({ graphs }, nowMs, tell) => {
      for (const snapshot of graphs.overdue(nowMs)) {
        graphs.end(snapshot.txId, 'expired', null, nowMs);
        tell(expired(snapshot));
      }
      graphs.sweep(nowMs);
    });
  }

  async #expire(txId: string, expired: (snapshot: GraphSnapshot) => readonly FleetEvent[]): Promise<void> {
    await this.#access.write(({ graphs }, nowMs, tell) => {
      const open = graphs.open(txId);
      if (open === null) return; // another call has told it
      graphs.end(txId, 'expired', null, nowMs);
      tell(expired(snapshotOf(open)));
    });
  }
}

async function packed(text: string): Promise<StoredText> {
  const data = Buffer.from(text, 'utf8');
  const small = data.length >= PACK_FROM_BYTES ? await packBytes(data) : null;
  return { bytes: data.length, packed: small === null ? 0 : 1, data: small ?? data };
}

async function unpacked({ bytes, packed: isPacked, data }: StoredText): Promise<string> {
  return (isPacked ? await unpackBytes(data, bytes) : data).toString('utf8');
}
