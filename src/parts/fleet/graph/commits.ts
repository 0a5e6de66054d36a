import { FleetError } from '../errors.ts';
import { eventOf } from '../hints.ts';
import type { GraphStore } from '../ports.ts';
import { inTimeSlices } from '../turns.ts';
import { type Author, about, ownerOf } from './author.ts';
import { conflict, locked } from './faults.ts';
import { addedViolations, type Violation, violationsOf } from './invariants.ts';
import { descriptorOf, type GraphDocument, sameDocument } from './model.ts';
import type { GraphMutationRecord } from './operations.ts';
import { writeGraph } from './text.ts';
import type { Base, GraphVersions } from './versions.ts';

/** The result of a change before it is committed. */
export interface Change {
  readonly document: GraphDocument;
  readonly applied: readonly GraphMutationRecord[];
  readonly operations: number;
}

/** Maximum number of violations listed in an answer. */
const MAX_LISTED = 100;

/**
 * Commits changes of graphs as versions. A change must not break a rule that held before; an empty change writes
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
   * @param txId - the open transaction that this commit ends
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
