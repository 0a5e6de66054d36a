import { FleetError } from '../errors.ts';
import { type Caller, eventOf } from '../ports.ts';
import { KeyedQueue } from '../queue.ts';
import type { FleetStore } from '../tables/fleet-store.ts';
import type { GraphStore } from '../tables/graphs.ts';
import { inTimeSlices } from '../turns.ts';
import { diffGraphs, type PatchOperation } from './diff.ts';
import { graphFault, lockData, locked, notFound } from './faults.ts';
import type { GraphDescriptor, GraphOperation } from './input.ts';
import { documentOf, type GraphDocument, normalisedGraph } from './model.ts';
import { applyOperations } from './operations.ts';
import { patchGraph } from './patch.ts';
import {
  type Author,
  type Change,
  checkExpected,
  checkGiven,
  GraphCommits,
  ownerOf,
  Transactions,
} from './transactions.ts';
import { EMPTY, GraphVersions } from './versions.ts';

class GraphLocks {
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

interface GraphsOptions {
  readonly store: FleetStore;
  readonly newId: () => string;
}

type Selector = { readonly latest: true } | { readonly version: number } | { readonly graph: GraphDescriptor };

/** Maximum retries of a change without an expected version that conflicts with concurrent changes. */
const ATTEMPTS = 50;

export class Graphs {
  readonly locks: GraphLocks;
  readonly transactions: Transactions;
  readonly #store: GraphStore;
  readonly #versions: GraphVersions;
  readonly #commits: GraphCommits;
  readonly #newId: () => string;
  readonly #queue = new KeyedQueue();

  constructor({ store: { graphs }, newId }: GraphsOptions) {
    this.#store = graphs;
    this.#newId = newId;
    this.#versions = new GraphVersions(graphs);
    this.#commits = new GraphCommits(graphs, this.#versions, newId);
    this.locks = new GraphLocks(graphs, newId);
    this.transactions = new Transactions(graphs, this.#versions, this.#commits, newId);
  }

  /** Creates a graph from a descriptor, or changes the graph whose committed version equals the descriptor. */
  async mutate(descriptor: GraphDescriptor, operations: readonly GraphOperation[], author: Author) {
    return graphFault(async () => {
      const graphId = descriptor.graph_id ?? this.#newId();
      const given = await inTimeSlices(documentOf(descriptor));
      const base = await this.#versions.latest(graphId);
      if (base.version > 0) await checkGiven(graphId, descriptor, given, base);
      const start = base.version === 0 ? given : base.document;
      const { document, applied } = await inTimeSlices(applyOperations(start, operations));
      const change = { document, applied, operations: operations.length };
      return this.#commits.write(graphId, base, change, author);
    });
  }

  /** Applies operations to the latest version, all or none. */
  async batchMutate(
    graphId: string,
    operations: readonly GraphOperation[],
    expectedVersion: number | undefined,
    author: Author,
  ) {
    return this.#change(graphId, expectedVersion, author, async (document) => ({
      ...(await inTimeSlices(applyOperations(document, operations))),
      operations: operations.length,
    }));
  }

  async diff(graphId: string, from: Selector, to: Selector) {
    return graphFault(async () => {
      const [a, b] = [await this.#select(graphId, from), await this.#select(graphId, to)];
      const { patch, summary } = await inTimeSlices(diffGraphs(a.document, b.document));
      return { graph_id: graphId, from: a.shown, to: b.shown, changed: patch.length > 0, patch, summary };
    });
  }

  /** Applies a patch to the latest version. A version given by the call must be the latest. */
  async patch(
    graphId: string,
    patch: readonly PatchOperation[],
    baseVersion: number | undefined,
    enforce: boolean,
    author: Author,
  ) {
    const { applied: _, ...answer } = await this.#change(
      graphId,
      baseVersion,
      author,
      async (document) => ({
        document: await inTimeSlices(patchGraph(document, patch)),
        applied: [],
        operations: patch.length,
      }),
      enforce,
    );
    const { owner: _owner, note: _note, ...rest } = answer;
    return rest;
  }

  /** A version (default: the latest) for resource readers; `null` if it is not stored. */
  async payload(graphId: string, version: number | null) {
    const base =
      version === null ? await this.#versions.latest(graphId) : await this.#versions.stored(graphId, version);
    if (base === null || base.version === 0) return null;
    const { document, committedMs } = base;
    return {
      graphId,
      version: base.version,
      committedAt: committedMs,
      graph: normalisedGraph(document, graphId, base.version),
    };
  }

  /** A snapshot for resource readers; `expired` if its versions are no longer stored. */
  async snapshotPayload(graphId: string, txId: string) {
    const snapshot = await this.#store.snapshot(graphId, txId);
    if (snapshot === null) return null;
    const { baseVersion, finalVersion } = snapshot;
    const base = baseVersion === 0 ? EMPTY : await this.#versions.stored(graphId, baseVersion);
    const final = finalVersion === null ? null : await this.#versions.stored(graphId, finalVersion);
    if (base === null || (finalVersion !== null && final === null)) return 'expired';
    return {
      graphId,
      txId,
      baseVersion,
      startedAt: snapshot.startedMs,
      state: snapshot.state,
      committedAt: snapshot.state === 'committed' ? snapshot.endedMs : null,
      finalVersion,
      baseGraph: normalisedGraph(base.document, graphId, baseVersion),
      finalGraph: final && normalisedGraph(final.document, graphId, final.version),
      owner: snapshot.owner,
      note: snapshot.note,
      expiresAt: snapshot.expiresMs,
    };
  }

  async #change(
    graphId: string,
    expected: number | undefined,
    author: Author,
    make: (document: GraphDocument) => Promise<Change>,
    enforce = true,
  ) {
    return graphFault(() =>
      this.#queue.run(graphId, async () => {
        for (let attempt = 1; ; attempt++) {
          const base = await this.#versions.latest(graphId);
          checkExpected(graphId, expected, base.version);
          if (base.version === 0 && expected !== 0) throw notFound(graphId);
          await this.locks.check(graphId, author);
          const change = await make(base.document);
          try {
            return await this.#commits.write(graphId, base, change, author, enforce);
          } catch (cause) {
            const isConflict = cause instanceof FleetError && cause.code === 'E-GRAPH-VERSION-CONFLICT';
            if (!isConflict || expected !== undefined || attempt >= ATTEMPTS) throw cause;
          }
        }
      }),
    );
  }

  async #select(graphId: string, selector: Selector) {
    if ('graph' in selector) {
      const document = await inTimeSlices(documentOf(selector.graph));
      return { document, shown: { source: 'descriptor' as const, version: selector.graph.graph_version ?? null } };
    }
    const isLatest = 'latest' in selector;
    const base = isLatest
      ? await this.#versions.latest(graphId)
      : await this.#versions.version(graphId, selector.version);
    if (base.version === 0) throw notFound(graphId);
    const source = isLatest ? ('latest' as const) : ('version' as const);
    return { document: base.document, shown: { source, version: base.version } };
  }
}
