import type { Committed, NewDecision, StoreBatch } from '../../core/ports.ts';
import { StoreUnavailable } from '../../errors/errors.ts';
import { encodeSent } from '../decision-codec.ts';
import { type Lifetimes, roomLimit } from '../lifetimes.ts';
import type { Access } from './access.ts';
import type { Tables } from './tables.ts';

interface BatchLimits extends Lifetimes {
  /** Byte limit of originals, and the maximum share of one conversation. */
  readonly maxBytes: number;
  readonly conversationShare: number;
}

/**
 * Saves the decisions and records of a request together: new decisions, originals, sent-message records, and uses of
 * older ones.
 */
export class Batches {
  readonly #access: Access;
  readonly #limits: BatchLimits;

  constructor(access: Access, limits: BatchLimits) {
    this.#access = access;
    this.#limits = limits;
  }

  /**
   * Saves a batch within a transaction.
   *
   * @throws StoreUnavailable `full` if the batch would exceed the limit for new originals; nothing is stored then
   */
  save(tables: Tables, batch: StoreBatch, nowMs: number): Committed {
    const { stored } = tables.snapshots;
    const committed = this.#saveAll(tables, batch, nowMs);
    const isLarger = tables.snapshots.stored > stored;
    if (isLarger && tables.meter('stored_bytes') > roomLimit(this.#limits.maxBytes)) throw new StoreUnavailable('full');
    return committed;
  }

  #saveAll(tables: Tables, batch: StoreBatch, nowMs: number): Committed {
    const refused: string[] = batch.wholeOrNothing ? this.#refusals(tables, batch, nowMs) : [];
    if (refused.length > 0) return { missing: [], refused, known: [] };
    const known: string[] = [];
    for (const item of batch.decisions) {
      const { key, pruneId } = item.decision;
      if (this.#exceedsShare(tables, batch, item, nowMs)) {
        refused.push(key);
        continue;
      }
      const saved = tables.decisions.save(item, nowMs, nowMs + this.#limits.ttlMs);
      if (saved === 'new' && pruneId !== null) charge(tables, pruneId, batch.conversation);
      if (saved === 'clash') refused.push(key);
      else if (batch.owner !== undefined && pruneId !== null) own(tables, pruneId, batch.owner);
      if (saved !== 'known') continue;
      known.push(key);
      if (pruneId === null) this.#useKey(tables, key, nowMs);
      else this.#access.use('prune', pruneId, tables.decisions.pruneUntil(pruneId), nowMs);
    }
    const sentBefore = refused.length + known.length > 0 ? [] : this.#saveSent(tables, batch, nowMs);
    const missing = this.touch(tables, batch, nowMs);
    return { missing, refused, known, sentBefore: sentBefore.length > 0 ? sentBefore : undefined };
  }

  #saveSent({ sent }: Tables, batch: StoreBatch, nowMs: number): string[] {
    return (batch.sent ?? []).flatMap((message) => {
      const body = encodeSent(message);
      const row = sent.find(message.prefix);
      if (!row || this.#access.expiry('sent', message.prefix, row.expires_ms) <= nowMs) {
        sent.put(message.prefix, body, nowMs + this.#limits.sentTtlMs);
        return [];
      }
      this.#access.use('sent', message.prefix, row.expires_ms, nowMs);
      return row.body === body ? [] : [message.prefix];
    });
  }

  /** Whether a new original would exceed its conversation's quota. */
  #exceedsShare({ decisions, sql }: Tables, batch: StoreBatch, item: NewDecision, nowMs: number): boolean {
    const { conversation } = batch;
    const { pruneId } = item.decision;
    if (conversation === undefined || pruneId === null || (decisions.pruneUntil(pruneId) ?? 0) > nowMs) return false;
    const { maxBytes, conversationShare } = this.#limits;
    const stored = sql.value('SELECT bytes FROM conversation_bytes WHERE conversation = ?', [conversation]) ?? 0;
    return stored + item.text.length > maxBytes * conversationShare;
  }

  /**
   * Keys of decisions that exceed the conversation's quota, or whose prune id belongs to another text in the batch or
   * the file.
   */
  #refusals(tables: Tables, batch: StoreBatch, nowMs: number): string[] {
    const { decisions } = tables;
    const hashes = new Map<string, string>();
    return batch.decisions.flatMap((item) => {
      const { key, pruneId, textHash } = item.decision;
      if (pruneId === null) return [];
      if (this.#exceedsShare(tables, batch, item, nowMs)) return [key];
      const row = decisions.prune(pruneId);
      const taken = row && row.expires_ms > nowMs ? row.hash : hashes.get(pruneId);
      hashes.set(pruneId, textHash);
      return taken === undefined || taken === textHash ? [] : [key];
    });
  }

  /** Records the use of prunes; returns the missing prune ids. */
  touch({ decisions }: Tables, { touch }: StoreBatch, nowMs: number): string[] {
    return touch.filter((id) => !this.#access.use('prune', id, decisions.pruneUntil(id), nowMs));
  }

  #useKey({ decisions }: Tables, key: string, nowMs: number): void {
    const until = decisions.until(key);
    if (until) this.#access.use(until.kind, until.id, until.expiresMs, nowMs);
  }
}

/** Charges a prune to the conversation that stored it, unless already charged. */
function charge({ sql }: Tables, pruneId: string, conversation: string | undefined): void {
  if (conversation === undefined) return;
  sql.run(
    `INSERT OR IGNORE INTO charge (prune, conversation, bytes)
     SELECT p.id, ?, s.stored_bytes FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.prune_id = ?`,
    [conversation, pruneId],
  );
}

function own({ sql }: Tables, pruneId: string, project: string): void {
  sql.run('INSERT OR IGNORE INTO prune_owner (prune, project) SELECT id, ? FROM prune WHERE prune_id = ?', [
    project,
    pruneId,
  ]);
}
