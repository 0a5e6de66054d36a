import type { Decision, NewDecision } from '../../core/ports.ts';
import { decodeBody, encodeBody } from '../decision-codec.ts';
import type { Snapshots } from './snapshots.ts';
import type { Statements } from './statements.ts';

interface DecisionRow {
  readonly key: string;
  readonly prune_id: string | null;
  readonly body: string;
  readonly expires_ms: number;
}

/** The item whose expiry a decision shares: its prune, or the decision itself if the text was kept whole. */
interface Until {
  readonly kind: 'prune' | 'whole';
  readonly id: string;
  readonly expiresMs: number;
}

interface FoundDecision extends Until {
  readonly decision: Decision;
}

export interface PruneRow {
  readonly id: number;
  readonly prune_id: string;
  readonly snapshot: number;
  readonly hash: string;
  readonly decision_key: string;
  readonly body: string;
  readonly created_ms: number;
  readonly expires_ms: number;
}

/** A candidate for eviction: a prune, or a decision to keep a text whole. */
export interface Oldest {
  readonly id: number;
  readonly expires_ms: number;
}

/**
 * Decisions by key and prunes by id. Several decisions may share a prune; a prune belongs to one text forever. Expired
 * rows are returned too: the caller checks the clock.
 */
export class Decisions {
  readonly #sql: Statements;
  readonly #snapshots: Snapshots;

  constructor(sql: Statements, snapshots: Snapshots) {
    this.#sql = sql;
    this.#snapshots = snapshots;
  }

  /** Finds decisions by key; unknown keys are skipped. */
  findAll(keys: readonly string[]): FoundDecision[] {
    return this.#byKeys(keys).map((row) => {
      const { kind, id, expiresMs } = untilOf(row);
      return { kind, id, expiresMs, decision: decodeBody(row.key, row.prune_id, row.body) }; // a spread would make look-ups a third slower
    });
  }

  /** Like `findAll` for one key, without the decision itself. */
  until(key: string): Until | null {
    const [row] = this.#byKeys([key]);
    return row ? untilOf(row) : null;
  }

  #byKeys(keys: readonly string[]): DecisionRow[] {
    if (keys.length === 0) return [];
    return this.#sql.allOf(
      `SELECT d.key, p.prune_id, coalesce(d.body, p.body, '') AS body, coalesce(p.expires_ms, d.expires_ms) AS expires_ms
       FROM decision d LEFT JOIN prune p ON p.id = d.prune WHERE d.key IN LIST(?)`,
      [keys],
    );
  }

  prune(pruneId: string): PruneRow | null {
    const row = this.#sql.get<PruneRow>(
      `SELECT p.id, p.prune_id, p.snapshot, s.hash, p.decision_key, p.body, p.created_ms, p.expires_ms
       FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.prune_id = ?`,
      [pruneId],
    );
    return row ?? null;
  }

  /** Stored expiry of a prune, or `undefined`. */
  pruneUntil(pruneId: string): number | undefined {
    return this.#sql.value('SELECT expires_ms FROM prune WHERE prune_id = ?', [pruneId]);
  }

  /**
   * Stores a decision and its original, inside the caller's transaction. Existing rows stay unchanged, because the
   * first decision under a key is replayed.
   *
   * @returns `clash` if the prune id belongs to another text (nothing is written), `known` if the decision or its prune
   * already exists
   */
  save({ decision, text, packed }: NewDecision, nowMs: number, expiresMs: number): 'new' | 'known' | 'clash' {
    if (decision.pruneId === null) {
      return this.#link(decision, null, encodeBody(decision), nowMs, expiresMs);
    }
    const body = encodeBody(decision);
    let prune = this.prune(decision.pruneId);
    if (prune && prune.expires_ms > nowMs && prune.hash !== decision.textHash) return 'clash';
    if (prune && prune.expires_ms <= nowMs) {
      this.#deletePrune(prune.id);
      if (prune.hash !== decision.textHash) this.#snapshots.dropOrphan(prune.snapshot);
      prune = null;
    }
    if (prune) {
      const same = prune.decision_key === decision.key && prune.body === body;
      this.#link(decision, prune.id, same ? null : body, nowMs, expiresMs);
      return 'known';
    }
    const snapshot = this.#snapshots.put(decision.textHash, text, packed);
    const added = this.#sql.insert(
      'INSERT INTO prune (prune_id, snapshot, decision_key, body, created_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?)',
      [decision.pruneId, snapshot, decision.key, body, nowMs, expiresMs],
    );
    return this.#link(decision, added, null, nowMs, expiresMs);
  }

  #link(
    { key }: Decision,
    prune: number | null,
    body: string | null,
    nowMs: number,
    expiresMs: number,
  ): 'new' | 'known' {
    const until = this.until(key);
    if (until) {
      if (until.expiresMs > nowMs) return 'known';
      this.#sql.run('DELETE FROM decision WHERE key = ?', [key]);
    }
    const values = [key, prune, body, expiresMs];
    this.#sql.run('INSERT INTO decision (key, prune, body, expires_ms) VALUES (?, ?, ?, ?)', values);
    return 'new';
  }

  /** The prune with the earliest expiry, i.e. the least recently used one. */
  oldestPrune(): Oldest | undefined {
    return this.#sql.get('SELECT id, expires_ms FROM prune ORDER BY expires_ms LIMIT 1');
  }

  /** The decision to keep a text whole with the earliest expiry. */
  oldestWhole(): Oldest | undefined {
    return this.#sql.get('SELECT id, expires_ms FROM decision WHERE prune IS NULL ORDER BY expires_ms LIMIT 1');
  }

  /** Deletes a prune, its decisions, and its text if no other prune needs it. */
  removePrune(id: number): void {
    const snapshot = this.#sql.value('SELECT snapshot FROM prune WHERE id = ?', [id]);
    this.#deletePrune(id);
    if (snapshot !== undefined) this.#snapshots.dropOrphan(snapshot);
  }

  #deletePrune(id: number): void {
    this.#sql.run('DELETE FROM prune WHERE id = ?', [id]);
  }

  /** Deletes a text by its hash, with all its prunes. @returns their ids */
  removeText(hash: string): string[] {
    const rows = this.#sql.all<{ id: number; prune_id: string }>(
      'SELECT p.id, p.prune_id FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE s.hash = ?',
      [hash],
    );
    for (const { id } of rows) this.removePrune(id);
    return rows.map(({ prune_id }) => prune_id);
  }

  /** Like `removePrune`, by prune ids; returns the number of deleted prunes. */
  erase(pruneIds: readonly string[]): number {
    const rows = pruneIds.flatMap((pruneId) => this.prune(pruneId) ?? []);
    for (const { id } of rows) this.removePrune(id);
    return rows.length;
  }

  removeWhole(id: number): void {
    this.#sql.run('DELETE FROM decision WHERE id = ?', [id]);
  }
}

function untilOf({ key, prune_id, expires_ms }: DecisionRow): Until {
  return prune_id === null
    ? { kind: 'whole', id: key, expiresMs: expires_ms }
    : { kind: 'prune', id: prune_id, expiresMs: expires_ms };
}
