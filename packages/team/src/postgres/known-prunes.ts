import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { Committed, Decision, StoreBatch } from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import type { Lifetimes, PendingUses } from 'mcp-pruner/store/lifetimes.ts';
import type { Database } from './database.ts';
import { type CommitRow, type DecisionRow, decisionOf } from './decisions.ts';
import { toPg } from './text.ts';

/** Maximum number of prunes with cached expiry, whose uses need no query. */
const MAX_SEEN = 200_000;

/** Cache of prunes and decisions seen in the database, so that most uses need no query. */
export class KnownPrunes {
  readonly #database: Database;
  readonly #uses: PendingUses;
  readonly #lifetimes: Lifetimes;
  readonly #epoch: () => string;
  readonly #seen = new BoundedMap<string, number>(MAX_SEEN);
  #seenEpoch = '';

  /** @param epoch - changes with each deletion */
  constructor(database: Database, uses: PendingUses, lifetimes: Lifetimes, epoch: () => string) {
    this.#database = database;
    this.#uses = uses;
    this.#lifetimes = lifetimes;
    this.#epoch = epoch;
  }

  /** The unexpired decisions among rows that were read; records their use. */
  decisionsIn(rows: readonly DecisionRow[], nowMs: number): Map<string, Decision> {
    const alive = rows.filter((row) => this.#noteDecision(row, nowMs));
    return new Map(alive.map((row) => [row.key, decisionOf(row)]));
  }

  /** Records the use of prunes; queries only uncached ones. Returns the missing ids. */
  async touch(ids: readonly string[], nowMs: number): Promise<string[]> {
    this.#forgetOldEpoch();
    const missing: string[] = [];
    const queried: string[] = [];
    for (const id of new Set(ids)) {
      const storedMs = this.#seen.get(id);
      if (storedMs === undefined || !this.#uses.use('prune', id, storedMs, nowMs)) queried.push(id);
    }
    if (this.#database.isClosed) throw new StoreUnavailable('closed');
    if (queried.length > 0) {
      const rows = await this.#database.query<{ prune_id: string; expires_ms: number }>(
        'SELECT prune_id, expires_ms FROM mcp_pruner.prune WHERE prune_id = ANY ($1)',
        [queried.map(toPg)],
      );
      const found = new Map(rows.map((row) => [row.prune_id, row.expires_ms]));
      for (const id of queried) {
        const storedMs = found.get(toPg(id));
        if (!this.#uses.use('prune', id, storedMs, nowMs)) missing.push(id);
        else if (storedMs !== undefined) this.#seen.set(id, storedMs);
      }
    }
    return missing;
  }

  committed(batch: StoreBatch, rows: readonly CommitRow[], nowMs: number): Committed {
    this.#forgetOldEpoch();
    const of = (what: CommitRow['what']): CommitRow[] => rows.filter((row) => row.what === what);
    const refused = of('refused').map(({ id }) => id);
    const known = of('known').map(({ id }) => id);
    const stored = of('known').map(({ id, prune_id, body, until_ms }) => {
      return { key: id, prune_id, body, expires_ms: until_ms ?? 0 };
    });
    if (!(batch.wholeOrNothing && refused.length > 0)) {
      for (const { decision } of batch.decisions) {
        const { pruneId, key } = decision;
        if (pruneId === null || refused.includes(key)) continue;
        if (known.includes(key)) this.#uses.use('prune', pruneId, this.#seen.get(pruneId), nowMs);
        else this.#seen.set(pruneId, nowMs + this.#lifetimes.ttlMs);
      }
    }
    for (const { id, until_ms } of of('alive')) this.#uses.use('prune', id, until_ms ?? undefined, nowMs);
    const missing = of('missing').filter(
      ({ id, until_ms }) => !this.#uses.use('prune', id, until_ms ?? undefined, nowMs),
    );
    for (const { id, until_ms } of [...of('sent_same'), ...of('sent_before')]) {
      this.#uses.use('sent', id, until_ms ?? undefined, nowMs);
    }
    const sentBefore = of('sent_before').map(({ id }) => id);
    return {
      missing: missing.map(({ id }) => id),
      refused,
      known,
      decisions: stored.length > 0 ? this.decisionsIn(stored, nowMs) : undefined,
      sentBefore: sentBefore.length > 0 ? sentBefore : undefined,
    };
  }

  /** Records the use of a decision that was read; `false` if it has expired. */
  #noteDecision({ key, prune_id, expires_ms }: DecisionRow, nowMs: number): boolean {
    if (prune_id === null) return this.#uses.use('whole', key, expires_ms, nowMs);
    if (!this.#uses.use('prune', prune_id, expires_ms, nowMs)) return false;
    this.#seen.set(prune_id, expires_ms);
    return true;
  }

  /** Cached rows are valid only until the next deletion. */
  #forgetOldEpoch(): void {
    const epoch = this.#epoch();
    if (epoch !== this.#seenEpoch) this.#seen.clear();
    this.#seenEpoch = epoch;
  }
}
