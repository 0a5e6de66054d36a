import { FleetError } from '../errors.ts';
import { type Caller, eventOf } from '../hints.ts';
import type { GraphStore } from '../ports.ts';
import { type Author, ownerOf } from './author.ts';
import { lockData, locked } from './faults.ts';

/** Locks that restrict who may change a graph. */
export class GraphLocks {
  readonly #store: GraphStore;
  readonly #newId: () => string;

  constructor(store: GraphStore, newId: () => string) {
    this.#store = store;
    this.#newId = newId;
  }

  /** Acquires a lock, or renews it for the same holder. @throws FleetError `E-GRAPH-LOCK-HELD` */
  async take(graphId: string, holder: string, ttlMs: number | undefined, caller: Caller) {
    const about = { graphId, childId: caller.childId };
    const request = { graphId, holder, ttlMs: ttlMs ?? null, newId: this.#newId() };
    const lock = await this.#store.lock(request, ({ lockId, expiresMs }) => [
      eventOf('graph_locked', about, { holder, lock_id: lockId, expires_at: expiresMs }),
    ]);
    if (lock.holder !== holder) throw new FleetError('E-GRAPH-LOCK-HELD', lockData(lock));
    return {
      lock_id: lock.lockId,
      graph_id: graphId,
      holder,
      acquired_at: lock.acquiredMs,
      refreshed_at: lock.refreshedMs,
      expires_at: lock.expiresMs,
    };
  }

  /** @throws FleetError `E-GRAPH-LOCK-NOT-FOUND` */
  async free(lockId: string, caller: Caller) {
    const freed = await this.#store.unlock(lockId, ({ graphId, holder }, expired) => [
      eventOf('graph_unlocked', { graphId, childId: caller.childId }, { holder, lock_id: lockId, expired }),
    ]);
    if (freed === null) throw new FleetError('E-GRAPH-LOCK-NOT-FOUND', { lock_id: lockId });
    const { lock, expired, releasedMs } = freed;
    return {
      lock_id: lockId,
      graph_id: lock.graphId,
      holder: lock.holder,
      released_at: releasedMs,
      expired,
      expires_at: lock.expiresMs,
    };
  }

  /** @throws FleetError `E-GRAPH-MUTATION-LOCKED` while another holder has the lock */
  async check(graphId: string, author: Author): Promise<void> {
    const lock = await this.#store.activeLock(graphId);
    if (lock !== null && lock.holder !== ownerOf(author)) throw locked(lock);
  }
}
