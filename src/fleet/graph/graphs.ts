import { LRUCache } from 'lru-cache';
import type { Correlation, FleetStore, GraphLock, GraphSnapshot, OpenTransaction } from '../../core/ports/fleet.ts';
import { PrunerError } from '../../errors.ts';
import { type Caller, correlationOf, eventOf, type Hints } from '../hints.ts';
import { KeyedQueue } from '../queue.ts';
import { inTurns } from '../turns.ts';
import { diffGraphs, type PatchOperation } from './diff.ts';
import { graphFault } from './faults.ts';
import { addedViolations, type Violation, violationsOf } from './invariants.ts';
import {
  descriptorOf,
  documentOf,
  EMPTY_GRAPH,
  type GraphDescriptor,
  type GraphDocument,
  normalisedGraph,
  sameDocument,
} from './model.ts';
import { applyOperations, type GraphMutationRecord, type GraphOperation } from './operations.ts';
import { patchGraph } from './patch.ts';
import { readGraph, writeGraph } from './text.ts';

export interface GraphsOptions {
  readonly store: FleetStore;
  readonly newId: () => string;
}

/** Who changes a graph, and why, for lock and snapshot. */
export interface Author {
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  readonly hints?: Hints | undefined;
  readonly caller: Caller;
}

export type Selector = { readonly latest: true } | { readonly version: number } | { readonly graph: GraphDescriptor };

/** A version as it was read; 0 and nothing in it where there is none. */
interface Base {
  readonly version: number;
  readonly committedMs: number;
  readonly document: GraphDocument;
}

/** What a change came to, before it is committed. */
interface Change {
  readonly document: GraphDocument;
  readonly applied: readonly GraphMutationRecord[];
  readonly operations: number;
}

/** Elements of all graphs that are kept in memory: some 50 MB. */
const CACHED_ELEMENTS = 200_000;
/** How often a change that names no version is made anew because somebody was faster. */
const ATTEMPTS = 50;
/** Violations that an answer names. */
const MAX_TOLD = 100;

/** Task graphs: versioned, changed atomically, locked, compared. */
export class Graphs {
  readonly #store: FleetStore;
  readonly #newId: () => string;
  readonly #queue = new KeyedQueue();
  readonly #documents = new LRUCache<string, Base>({
    maxSize: CACHED_ELEMENTS,
    sizeCalculation: ({ document }) => 1 + document.nodes.length + document.edges.length,
  });

  constructor({ store, newId }: GraphsOptions) {
    this.#store = store;
    this.#newId = newId;
  }

  /** Makes a graph from a descriptor, or changes the one whose committed version the descriptor is. */
  async mutate(descriptor: GraphDescriptor, operations: readonly GraphOperation[], author: Author) {
    return graphFault(async () => {
      const graphId = descriptor.graph_id ?? this.#newId();
      const given = await inTurns(documentOf(descriptor));
      const base = await this.#latest(graphId);
      if (base.version > 0) await checkGiven(graphId, descriptor, given, base);
      const start = base.version === 0 ? given : base.document;
      const { document, applied } = await inTurns(applyOperations(start, operations));
      const change = { document, applied, operations: operations.length };
      return this.#commit(graphId, base, change, author, base.version === 0);
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
      ...(await inTurns(applyOperations(document, operations))),
      operations: operations.length,
    }));
  }

  async diff(graphId: string, from: Selector, to: Selector) {
    return graphFault(async () => {
      const [a, b] = [await this.#select(graphId, from), await this.#select(graphId, to)];
      const { patch, summary } = await inTurns(diffGraphs(a.document, b.document));
      return { graph_id: graphId, from: a.told, to: b.told, changed: patch.length > 0, patch, summary };
    });
  }

  /** Applies a patch to the latest version, or to the one named if that is the latest. */
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
        document: await inTurns(patchGraph(document, patch)),
        applied: [],
        operations: patch.length,
      }),
      enforce,
    );
    const { owner: _owner, note: _note, ...rest } = answer;
    return rest;
  }

  async lock(graphId: string, holder: string, ttlMs: number | undefined, caller: Caller) {
    const about = { graphId, childId: caller.childId };
    const asked = { graphId, holder, ttlMs: ttlMs ?? null, newId: this.#newId() };
    const lock = await this.#store.graphs.lock(asked, ({ lockId, expiresMs }) => [
      eventOf('graph_locked', about, { holder, lock_id: lockId, expires_at: expiresMs }),
    ]);
    if (lock.holder !== holder) throw new PrunerError('E-GRAPH-LOCK-HELD', lockData(lock));
    return {
      lock_id: lock.lockId,
      graph_id: graphId,
      holder,
      acquired_at: lock.acquiredMs,
      refreshed_at: lock.refreshedMs,
      expires_at: lock.expiresMs,
    };
  }

  async unlock(lockId: string, caller: Caller) {
    const freed = await this.#store.graphs.unlock(lockId, ({ graphId, holder }, expired) => [
      eventOf('graph_unlocked', { graphId, childId: caller.childId }, { holder, lock_id: lockId, expired }),
    ]);
    if (freed === null) throw new PrunerError('E-GRAPH-LOCK-NOT-FOUND', { lock_id: lockId });
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

  async begin(
    asked: {
      readonly graphId: string;
      readonly expectedVersion: number | undefined;
      readonly ttlMs: number | undefined;
      readonly graph: GraphDescriptor | undefined;
    },
    author: Author,
  ) {
    return graphFault(async () => {
      const { graphId, expectedVersion, ttlMs, graph } = asked;
      const base = await this.#latest(graphId);
      checkExpected(graphId, expectedVersion, base.version);
      if (base.version === 0 && graph === undefined && expectedVersion !== 0) throw notFound(graphId);
      if (base.version > 0 && graph !== undefined) {
        await checkGiven(graphId, graph, await inTurns(documentOf(graph)), base);
      }
      const document = base.version === 0 && graph ? await inTurns(documentOf(graph)) : base.document;
      const text = base.version === 0 ? await inTurns(writeGraph(document)) : null;
      const [owner, note] = [ownerOf(author), author.note ?? null];
      const txId = this.#newId();
      const begun = await this.#store.graphs.begin(
        { graphId, txId, baseVersion: base.version, owner, note, ttlMs: ttlMs ?? null, text },
        [eventOf('tx_begun', about(author, graphId), { tx: txId, version: base.version })],
      );
      if (begun.kind === 'locked') throw locked(begun.lock);
      if (begun.kind === 'conflict') throw conflict(graphId, base.version, begun.found);
      if (begun.kind === 'full') throw new PrunerError('E-FLEET-BOUND', { bound: 'open transactions of a graph' });
      const { startedMs, expiresMs } = begun.snapshot;
      return {
        tx_id: txId,
        graph_id: graphId,
        base_version: base.version,
        started_at: startedMs,
        owner,
        note,
        expires_at: expiresMs,
        graph: descriptorOf(document, graphId, base.version),
      };
    });
  }

  /** Applies operations to the working copy of a transaction. */
  async apply(txId: string, operations: readonly GraphOperation[]) {
    return graphFault(() =>
      this.#queue.run(txId, async () => {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          const open = await this.#open(txId);
          const start = await this.#working(open);
          const { document, applied } = await inTurns(applyOperations(start, operations));
          const text = await inTurns(writeGraph(document));
          const staged = await this.#store.graphs.stage(txId, open.revision, text, open.owner);
          if (typeof staged === 'object') throw locked(staged.lock);
          if (staged === 'stale') continue;
          const base = await this.#version(open.graphId, open.baseVersion);
          const isSame = await inTurns(sameDocument(base.document, document));
          const preview = isSame && base.version > 0 ? base.version : base.version + 1;
          return {
            tx_id: txId,
            graph_id: open.graphId,
            base_version: open.baseVersion,
            preview_version: preview,
            owner: open.owner,
            note: open.note,
            expires_at: open.expiresMs,
            changed: applied.some(({ changed }) => changed),
            applied,
            graph: descriptorOf(document, open.graphId, preview),
          };
        }
        throw new PrunerError('E-TX-NOT-FOUND', { tx_id: txId });
      }),
    );
  }

  async commit(txId: string, caller: Caller) {
    return graphFault(() =>
      this.#queue.run(txId, async () => {
        const open = await this.#open(txId);
        const base = await this.#version(open.graphId, open.baseVersion);
        const document = await this.#working(open);
        const author: Author = { owner: open.owner ?? undefined, note: open.note ?? undefined, caller };
        const change = { document, applied: [], operations: 0 };
        const done = await this.#commit(open.graphId, base, change, author, base.version === 0, true, txId);
        const { graph_id, committed_version: version, committed_at, graph } = done;
        return { tx_id: txId, graph_id, version, committed_at, graph };
      }),
    );
  }

  async rollback(txId: string, caller: Caller) {
    const open = await this.#open(txId);
    const events = [
      eventOf(
        'tx_rolled_back',
        { graphId: open.graphId, childId: caller.childId },
        { tx: txId, version: open.baseVersion },
      ),
    ];
    const ended = await this.#store.graphs.rollback(txId, events);
    if (ended === null) throw new PrunerError('E-TX-NOT-FOUND', { tx_id: txId });
    const base = await this.#version(open.graphId, open.baseVersion);
    return {
      tx_id: txId,
      graph_id: open.graphId,
      version: open.baseVersion,
      rolled_back_at: ended.endedMs,
      snapshot: descriptorOf(base.document, open.graphId, base.version),
    };
  }

  /** A version for readers of resources; `null` where it is not kept. Without a number the latest. */
  async payload(graphId: string, version: number | null) {
    const base = version === null ? await this.#latest(graphId) : await this.#stored(graphId, version);
    if (base === null || base.version === 0) return null;
    const { document, committedMs } = base;
    return {
      graphId,
      version: base.version,
      committedAt: committedMs,
      graph: normalisedGraph(document, graphId, base.version),
    };
  }

  /** A snapshot for readers of resources; `expired` when its versions are no longer kept. */
  async snapshotPayload(graphId: string, txId: string) {
    const snapshot = await this.#store.graphs.snapshot(graphId, txId);
    if (snapshot === null) return null;
    const { baseVersion, finalVersion } = snapshot;
    const base = baseVersion === 0 ? EMPTY : await this.#stored(graphId, baseVersion);
    const final = finalVersion === null ? null : await this.#stored(graphId, finalVersion);
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

  /** Lets go of what is over. */
  sweep(): Promise<void> {
    return this.#store.graphs.sweep(expiredEvents);
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
          const base = await this.#latest(graphId);
          checkExpected(graphId, expected, base.version);
          if (base.version === 0 && expected !== 0) throw notFound(graphId);
          await this.#checkLock(graphId, author);
          const change = await make(base.document);
          try {
            return await this.#commit(graphId, base, change, author, base.version === 0, enforce);
          } catch (cause) {
            const isConflict = cause instanceof PrunerError && cause.code === 'E-GRAPH-VERSION-CONFLICT';
            if (!isConflict || expected !== undefined || attempt >= ATTEMPTS) throw cause;
          }
        }
      }),
    );
  }

  /** Checks the rules and writes a version, unless nothing changed. */
  async #commit(
    graphId: string,
    base: Base,
    change: Change,
    author: Author,
    isNew: boolean,
    enforce = true,
    txId?: string,
  ) {
    const { document } = change;
    const changed = isNew || !(await inTurns(sameDocument(base.document, document)));
    const violations = await this.#violations(base.document, document, enforce && changed);
    const text = changed ? await inTurns(writeGraph(document)) : null;
    const [owner, note] = [ownerOf(author), author.note ?? null];
    const id = txId ?? this.#newId();
    const outcome = await this.#store.graphs.commit({
      graphId,
      baseVersion: base.version,
      text,
      owner,
      note,
      txId: id,
      isTransaction: txId !== undefined,
      events: (version) =>
        changed || txId !== undefined
          ? [
              eventOf('graph_committed', about(author, graphId), {
                version,
                operations: change.operations,
                changed,
                tx: id,
              }),
            ]
          : [],
    });
    if (outcome.kind === 'locked') throw locked(outcome.lock);
    if (outcome.kind === 'conflict') throw conflict(graphId, base.version, outcome.found);
    if (outcome.kind === 'gone') throw new PrunerError('E-TX-NOT-FOUND', { tx_id: id });
    if (outcome.kind === 'full') throw new PrunerError('E-FLEET-BOUND', { bound: 'graphs' });
    const { version, committedMs } = outcome;
    if (changed) this.#documents.set(`${graphId}@${version}`, { version, committedMs, document });
    return {
      graph_id: graphId,
      base_version: base.version,
      committed_version: version,
      committed_at: committedMs,
      changed,
      operations_applied: change.operations,
      applied: change.applied,
      invariants: enforce ? { ok: violations.length === 0, violations: violations.slice(0, MAX_TOLD) } : null,
      graph: descriptorOf(document, graphId, version),
      owner,
      note,
    };
  }

  async #violations(before: GraphDocument, after: GraphDocument, enforce: boolean): Promise<Violation[]> {
    const found = await inTurns(violationsOf(after));
    if (!enforce || found.length === 0) return found;
    const added = addedViolations(await inTurns(violationsOf(before)), found);
    if (added.length > 0) throw new PrunerError('E-GRAPH-INVARIANT', { violations: added.slice(0, MAX_TOLD) });
    return found;
  }

  async #checkLock(graphId: string, author: Author): Promise<void> {
    const lock = await this.#store.graphs.activeLock(graphId);
    if (lock !== null && lock.holder !== ownerOf(author)) throw locked(lock);
  }

  async #open(txId: string): Promise<OpenTransaction> {
    const open = await this.#store.graphs.transaction(txId, expiredEvents);
    if (open === 'expired') throw new PrunerError('E-TX-EXPIRED', { tx_id: txId });
    if (open === null) throw new PrunerError('E-TX-NOT-FOUND', { tx_id: txId });
    return open;
  }

  async #working({ graphId, baseVersion, text }: OpenTransaction): Promise<GraphDocument> {
    if (text !== null) return inTurns(readGraph(text));
    return (await this.#version(graphId, baseVersion)).document;
  }

  async #select(graphId: string, selector: Selector) {
    if ('graph' in selector) {
      const document = await inTurns(documentOf(selector.graph));
      return { document, told: { source: 'descriptor' as const, version: selector.graph.graph_version ?? null } };
    }
    const isLatest = 'latest' in selector;
    const base = isLatest ? await this.#latest(graphId) : await this.#version(graphId, selector.version);
    if (base.version === 0) throw notFound(graphId);
    const source = isLatest ? ('latest' as const) : ('version' as const);
    return { document: base.document, told: { source, version: base.version } };
  }

  async #latest(graphId: string): Promise<Base> {
    const head = await this.#store.graphs.head(graphId);
    return head === null ? EMPTY : this.#version(graphId, head.version);
  }

  /** @throws PrunerError `E-GRAPH-NOT-FOUND` for a version that is not kept */
  async #version(graphId: string, version: number): Promise<Base> {
    const base = version === 0 ? EMPTY : await this.#stored(graphId, version);
    if (base === null) throw notFound(graphId, version);
    return base;
  }

  async #stored(graphId: string, version: number): Promise<Base | null> {
    const key = `${graphId}@${version}`;
    const known = this.#documents.get(key);
    if (known) return known;
    const stored = await this.#store.graphs.version(graphId, version);
    if (stored === null) return null;
    const base = { version, committedMs: stored.committedMs, document: await inTurns(readGraph(stored.text)) };
    this.#documents.set(key, base);
    return base;
  }
}

const EMPTY: Base = { version: 0, committedMs: 0, document: EMPTY_GRAPH };

/** A child that names no owner is its own. */
function ownerOf({ owner, caller }: Author): string | null {
  return owner ?? caller.childId;
}

function about({ hints = {}, caller }: Author, graphId: string): Correlation {
  return { ...correlationOf(hints, caller), graphId };
}

function expiredEvents({ graphId, txId, baseVersion }: GraphSnapshot) {
  return [eventOf('tx_expired', { graphId }, { tx: txId, version: baseVersion })];
}

/** A descriptor of a known graph must be the committed version: by number if it names one, else by what it holds. */
async function checkGiven(graphId: string, { graph_version }: GraphDescriptor, given: GraphDocument, base: Base) {
  const isCommitted =
    graph_version === undefined ? await inTurns(sameDocument(given, base.document)) : graph_version === base.version;
  if (!isCommitted) throw conflict(graphId, graph_version ?? null, base.version);
}

function checkExpected(graphId: string, expected: number | undefined, found: number): void {
  if (expected !== undefined && expected !== found) throw conflict(graphId, expected, found);
}

function conflict(graphId: string, expected: number | null, found: number): PrunerError {
  return new PrunerError('E-GRAPH-VERSION-CONFLICT', { graph_id: graphId, expected, found });
}

function notFound(graphId: string, version?: number): PrunerError {
  return new PrunerError('E-GRAPH-NOT-FOUND', { graph_id: graphId, ...(version !== undefined && { version }) });
}

function lockData({ graphId, holder, lockId, expiresMs }: GraphLock) {
  return { graph_id: graphId, holder, lock_id: lockId, expires_at: expiresMs };
}

function locked(lock: GraphLock): PrunerError {
  return new PrunerError('E-GRAPH-MUTATION-LOCKED', lockData(lock));
}
