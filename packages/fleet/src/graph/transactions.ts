import { FleetError } from '../errors.ts';
import {
  type Caller,
  type Correlation,
  correlationOf,
  eventOf,
  type GraphSnapshot,
  type Hints,
  type OpenTransaction,
} from '../ports.ts';
import { KeyedQueue } from '../queue.ts';
import type { GraphStore } from '../tables/graphs.ts';
import { inTimeSlices } from '../turns.ts';
import { conflict, graphFault, locked, notFound } from './faults.ts';
import type { GraphDescriptor, GraphOperation } from './input.ts';
import { addedViolations, type Violation, violationsOf } from './invariants.ts';
import { descriptorOf, documentOf, type GraphDocument, sameDocument } from './model.ts';
import { applyOperations, type GraphMutationRecord } from './operations.ts';
import { readGraph, writeGraph } from './text.ts';
import type { Base, GraphVersions } from './versions.ts';

export interface Change {
  readonly document: GraphDocument;
  readonly applied: readonly GraphMutationRecord[];
  readonly operations: number;
}

const MAX_LISTED = 100;

/**
 * Commits changes of graphs as versions. A change must not break a rule that was satisfied before; empty changes write
 * nothing.
 */
export class GraphCommits {
  readonly #store: GraphStore;
  readonly #versions: GraphVersions;
  readonly #newId: () => string;

  constructor(store: GraphStore, versions: GraphVersions, newId: () => string) {
    this.#store = store;
    this.#versions = versions;
    this.#newId = newId;
  }

  /**
   * Checks the rules and writes a version, unless nothing changed.
   *
   * @param txId - the open transaction ended by this commit
   */
  async write(graphId: string, base: Base, change: Change, author: Author, enforce = true, txId?: string) {
    const { document } = change;
    const changed = base.version === 0 || !(await inTimeSlices(sameDocument(base.document, document)));
    const violations = await this.#violations(base.document, document, enforce && changed);
    const text = changed ? await inTimeSlices(writeGraph(document)) : null;
    const [owner, note] = [ownerOf(author), author.note ?? null];
    const id = txId ?? this.#newId();
    const outcome = await this.#store.commit({
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
    if (outcome.kind === 'gone') throw new FleetError('E-TX-NOT-FOUND', { tx_id: id });
    if (outcome.kind === 'full') throw new FleetError('E-FLEET-BOUND', { bound: 'graphs' });
    const { version, committedMs } = outcome;
    if (changed) this.#versions.remember(graphId, { version, committedMs, document });
    return {
      graph_id: graphId,
      base_version: base.version,
      committed_version: version,
      committed_at: committedMs,
      changed,
      operations_applied: change.operations,
      applied: change.applied,
      invariants: enforce ? { ok: violations.length === 0, violations: violations.slice(0, MAX_LISTED) } : null,
      graph: descriptorOf(document, graphId, version),
      owner,
      note,
    };
  }

  async #violations(before: GraphDocument, after: GraphDocument, enforce: boolean): Promise<Violation[]> {
    const found = await inTimeSlices(violationsOf(after));
    if (!enforce || found.length === 0) return found;
    const added = addedViolations(await inTimeSlices(violationsOf(before)), found);
    if (added.length > 0) throw new FleetError('E-GRAPH-INVARIANT', { violations: added.slice(0, MAX_LISTED) });
    return found;
  }
}

export interface Author {
  readonly owner?: string | undefined;
  readonly note?: string | undefined;
  readonly hints?: Hints | undefined;
  readonly caller: Caller;
}

/** Owner of a change; a child that names none is its own owner. */
export function ownerOf({ owner, caller }: Author): string | null {
  return owner ?? caller.childId;
}

function about({ hints = {}, caller }: Author, graphId: string): Correlation {
  return { ...correlationOf(hints, caller), graphId };
}

/** Checks that a descriptor matches the committed version: by version number if given, otherwise by content. */
export async function checkGiven(
  graphId: string,
  { graph_version }: GraphDescriptor,
  given: GraphDocument,
  base: Base,
) {
  const isCommitted =
    graph_version === undefined
      ? await inTimeSlices(sameDocument(given, base.document))
      : graph_version === base.version;
  if (!isCommitted) throw conflict(graphId, graph_version ?? null, base.version);
}

/** @throws FleetError `E-GRAPH-VERSION-CONFLICT` if another version is committed */
export function checkExpected(graphId: string, expected: number | undefined, found: number): void {
  if (expected !== undefined && expected !== found) throw conflict(graphId, expected, found);
}

/** Maximum retries of operations that conflict with concurrent calls in the same transaction. */
const ATTEMPTS = 50;

/** Stored working copies of graphs, invisible to others until committed. They survive restarts. */
export class Transactions {
  readonly #store: GraphStore;
  readonly #versions: GraphVersions;
  readonly #commits: GraphCommits;
  readonly #newId: () => string;
  readonly #queue = new KeyedQueue();

  constructor(store: GraphStore, versions: GraphVersions, commits: GraphCommits, newId: () => string) {
    this.#store = store;
    this.#versions = versions;
    this.#commits = commits;
    this.#newId = newId;
  }

  /** Opens a transaction on the committed version, or on a new graph. */
  async begin(
    request: {
      readonly graphId: string;
      readonly expectedVersion: number | undefined;
      readonly ttlMs: number | undefined;
      readonly graph: GraphDescriptor | undefined;
    },
    author: Author,
  ) {
    return graphFault(async () => {
      const { graphId, expectedVersion, ttlMs, graph } = request;
      const base = await this.#versions.latest(graphId);
      checkExpected(graphId, expectedVersion, base.version);
      if (base.version === 0 && graph === undefined && expectedVersion !== 0) throw notFound(graphId);
      if (base.version > 0 && graph !== undefined) {
        await checkGiven(graphId, graph, await inTimeSlices(documentOf(graph)), base);
      }
      const document = base.version === 0 && graph ? await inTimeSlices(documentOf(graph)) : base.document;
      const text = base.version === 0 ? await inTimeSlices(writeGraph(document)) : null;
      const [owner, note] = [ownerOf(author), author.note ?? null];
      const txId = this.#newId();
      const begun = await this.#store.begin(
        { graphId, txId, baseVersion: base.version, owner, note, ttlMs: ttlMs ?? null, text },
        [eventOf('tx_begun', about(author, graphId), { tx: txId, version: base.version })],
      );
      if (begun.kind === 'locked') throw locked(begun.lock);
      if (begun.kind === 'conflict') throw conflict(graphId, base.version, begun.found);
      if (begun.kind === 'full') throw new FleetError('E-FLEET-BOUND', { bound: 'open transactions of a graph' });
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

  async apply(txId: string, operations: readonly GraphOperation[]) {
    return graphFault(() =>
      this.#queue.run(txId, async () => {
        for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
          const open = await this.#open(txId);
          const start = await this.#working(open);
          const { document, applied } = await inTimeSlices(applyOperations(start, operations));
          const text = await inTimeSlices(writeGraph(document));
          const staged = await this.#store.stage(txId, open.revision, text, open.owner);
          if (typeof staged === 'object') throw locked(staged.lock);
          if (staged === 'stale') continue;
          const base = await this.#versions.version(open.graphId, open.baseVersion);
          const isSame = await inTimeSlices(sameDocument(base.document, document));
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
        throw new FleetError('E-TX-NOT-FOUND', { tx_id: txId });
      }),
    );
  }

  /** Commits the working copy as the next version. The transaction stays open if that fails. */
  async commit(txId: string, caller: Caller) {
    return graphFault(() =>
      this.#queue.run(txId, async () => {
        const open = await this.#open(txId);
        const base = await this.#versions.version(open.graphId, open.baseVersion);
        const document = await this.#working(open);
        const author: Author = { owner: open.owner ?? undefined, note: open.note ?? undefined, caller };
        const change = { document, applied: [], operations: 0 };
        const done = await this.#commits.write(open.graphId, base, change, author, true, txId);
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
    const ended = await this.#store.rollback(txId, events);
    if (ended === null) throw new FleetError('E-TX-NOT-FOUND', { tx_id: txId });
    const base = await this.#versions.version(open.graphId, open.baseVersion);
    return {
      tx_id: txId,
      graph_id: open.graphId,
      version: open.baseVersion,
      rolled_back_at: ended.endedMs,
      snapshot: descriptorOf(base.document, open.graphId, base.version),
    };
  }

  sweep(): Promise<void> {
    return this.#store.sweep(expiredEvents);
  }

  async #open(txId: string): Promise<OpenTransaction> {
    const open = await this.#store.transaction(txId, expiredEvents);
    if (open === 'expired') throw new FleetError('E-TX-EXPIRED', { tx_id: txId });
    if (open === null) throw new FleetError('E-TX-NOT-FOUND', { tx_id: txId });
    return open;
  }

  async #working({ graphId, baseVersion, text }: OpenTransaction): Promise<GraphDocument> {
    if (text !== null) return inTimeSlices(readGraph(text));
    return (await this.#versions.version(graphId, baseVersion)).document;
  }
}

function expiredEvents({ graphId, txId, baseVersion }: GraphSnapshot) {
  return [eventOf('tx_expired', { graphId }, { tx: txId, version: baseVersion })];
}
