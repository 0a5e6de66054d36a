import type { Committed, NewDecision, SentMessage, StoreBatch } from '../../core/ports.ts';
import { StoreUnavailable } from '../../errors/errors.ts';
import { encodeBody, encodeSent } from '../decision-codec.ts';
import { type Lifetimes, roomLimit } from '../lifetimes.ts';
import type { Access } from './access.ts';
import type { Tables } from './tables.ts';

interface BatchLimits extends Lifetimes {
  /** Byte limit of originals, and the maximum share of one conversation. */
  readonly maxBytes: number;
  readonly conversationShare: number;
}

/** What exists of a batch: one statement for all of its keys. */
const FIND = `
  SELECT 'prune' AS what, p.prune_id AS id, p.id AS number, p.snapshot, s.hash, p.decision_key AS key, p.body,
    p.expires_ms AS until
  FROM prune p JOIN snapshot s ON s.id = p.snapshot WHERE p.prune_id IN LIST(?)
  UNION ALL SELECT 'text', hash, id, 0, hash, '', '', stored_bytes FROM snapshot WHERE hash IN LIST(?)
  UNION ALL SELECT 'decision', d.key, d.id, 0, '', p.prune_id, '', coalesce(p.expires_ms, d.expires_ms)
  FROM decision d LEFT JOIN prune p ON p.id = d.prune WHERE d.key IN LIST(?)
  UNION ALL SELECT 'sent', prefix, id, 0, '', '', body, expires_ms FROM sent WHERE prefix IN LIST(?)
  UNION ALL SELECT 'share', '', 0, 0, '', '', '', bytes FROM conversation_bytes WHERE conversation = ?
  UNION ALL SELECT 'room', '', 0, 0, '', '', '', value FROM meter WHERE name = 'stored_bytes'`;
const ADD_PRUNE =
  'INSERT INTO prune (prune_id, snapshot, decision_key, body, created_ms, expires_ms) VALUES (?, ?, ?, ?, ?, ?)';
const ADD_DECISION = 'INSERT INTO decision (key, prune, body, expires_ms) VALUES (?, ?, ?, ?)';
/** Upper limit for the size of a row that belongs to a text, without its body and text. */
const ROW_BYTES = 1_024;

/** A row of `FIND`; the columns depend on what it is. */
interface Found {
  readonly what: 'prune' | 'text' | 'decision' | 'sent' | 'share' | 'room';
  readonly id: string;
  readonly number: number;
  readonly snapshot: number;
  readonly hash: string;
  /** Of a prune: the decision that it was stored with. Of a decision: its prune id, or `null`. */
  readonly key: string | null;
  readonly body: string;
  /** The expiry, in epoch milliseconds; a number of bytes for texts, shares and the room. */
  readonly until: number;
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
    return new Saving(this.#access, this.#limits, tables, batch, nowMs).save();
  }

  /** Records the use of prunes; returns the missing prune ids. */
  touch({ decisions }: Tables, { touch }: StoreBatch, nowMs: number): string[] {
    const until = decisions.prunesUntil(touch);
    return touch.filter((id) => !this.#access.use('prune', id, until.get(id), nowMs));
  }
}

/** One batch, with what the file has of it. Existing rows stay unchanged: the first decision under a key is replayed. */
class Saving {
  readonly #access: Access;
  readonly #limits: BatchLimits;
  readonly #tables: Tables;
  readonly #batch: StoreBatch;
  readonly #nowMs: number;
  readonly #prunes = new Map<string, Found>();
  readonly #texts = new Map<string, Pick<Found, 'number' | 'until'>>();
  readonly #decisions = new Map<string, Pick<Found, 'key' | 'until'>>();
  readonly #sent = new Map<string, Found>();
  /** Bytes charged to the conversation. */
  #share = 0;
  /** Bytes of all originals before the batch, and the most that it adds. */
  #stored = 0;
  #added = 0;

  constructor(access: Access, limits: BatchLimits, tables: Tables, batch: StoreBatch, nowMs: number) {
    this.#access = access;
    this.#limits = limits;
    this.#tables = tables;
    this.#batch = batch;
    this.#nowMs = nowMs;
    const { decisions, touch, sent = [], conversation = '' } = batch;
    const pruneIds = decisions.flatMap(({ decision }) => decision.pruneId ?? []);
    const hashes = decisions.flatMap(({ decision }) => (decision.pruneId === null ? [] : decision.textHash));
    const keys = decisions.map(({ decision }) => decision.key);
    const lists = [[...pruneIds, ...touch], hashes, keys, sent.map(({ prefix }) => prefix)];
    for (const row of tables.sql.allOf<Found>(FIND, [...lists, conversation])) {
      if (row.what === 'prune') this.#prunes.set(row.id, row);
      else if (row.what === 'text') this.#texts.set(row.id, row);
      else if (row.what === 'decision') this.#decisions.set(row.id, row);
      else if (row.what === 'sent') this.#sent.set(row.id, row);
      else if (row.what === 'share') this.#share = row.until;
      else this.#stored = row.until;
    }
  }

  save(): Committed {
    const { decisions, wholeOrNothing, touch } = this.#batch;
    const refused = wholeOrNothing ? this.#refusals() : [];
    if (refused.length > 0) return { missing: [], refused, known: [] };
    const known: string[] = [];
    for (const item of decisions) {
      const { key } = item.decision;
      const saved = this.#isRefused(item) ? 'refused' : this.#saveOne(item);
      if (saved === 'refused') refused.push(key);
      else if (saved === 'known') known.push(key);
    }
    this.#checkRoom();
    const sentBefore = refused.length + known.length > 0 ? [] : this.#saveSent();
    const missing = touch.filter((id) => !this.#use('prune', id, this.#prunes.get(id)?.until));
    return { missing, refused, known, sentBefore: sentBefore.length > 0 ? sentBefore : undefined };
  }

  #use(kind: 'prune' | 'whole' | 'sent', id: string, until: number | undefined): boolean {
    return this.#access.use(kind, id, until, this.#nowMs);
  }

  /** The stored prune under an id, unless it has expired. */
  #alive(pruneId: string): Found | undefined {
    const row = this.#prunes.get(pruneId);
    return row !== undefined && row.until > this.#nowMs ? row : undefined;
  }

  /** Whether an original would exceed its conversation's quota, or its prune id belongs to another text. */
  #isRefused({ decision: { pruneId, textHash }, text }: NewDecision): boolean {
    if (pruneId === null) return false;
    const alive = this.#alive(pruneId);
    if (alive) return alive.hash !== textHash;
    const { maxBytes, conversationShare } = this.#limits;
    return this.#batch.conversation !== undefined && this.#share + text.length > maxBytes * conversationShare;
  }

  /** Keys of refused decisions, and of those whose prune id belongs to another text in the batch. */
  #refusals(): string[] {
    const hashes = new Map<string, string>();
    return this.#batch.decisions.flatMap((item) => {
      const { key, pruneId, textHash } = item.decision;
      if (pruneId === null) return [];
      const taken = this.#alive(pruneId)?.hash ?? hashes.get(pruneId) ?? textHash;
      hashes.set(pruneId, textHash);
      return this.#isRefused(item) || taken !== textHash ? [key] : [];
    });
  }

  /** @returns `known` if the decision or its prune already exists */
  #saveOne({ decision, text, textOnly, packed }: NewDecision): 'new' | 'known' {
    const { key, pruneId, textHash } = decision;
    const body = encodeBody(decision);
    if (pruneId === null) {
      const before = this.#decisions.get(key);
      const linked = this.#link(key, null, null, body);
      if (linked === 'known') this.#use(before?.key ? 'prune' : 'whole', before?.key ?? key, before?.until);
      return linked;
    }
    const { sql, decisions, snapshots } = this.#tables;
    const alive = this.#alive(pruneId);
    if (alive) {
      const isSame = alive.key === key && alive.body === body;
      if (!textOnly) this.#link(key, pruneId, alive.number, isSame ? null : body);
      this.#own(alive.number);
      this.#use('prune', pruneId, alive.until);
      return 'known';
    }
    const expired = this.#prunes.get(pruneId);
    if (expired) {
      decisions.deletePrune(expired.number); // with its decisions
      for (const [other, { key: of }] of this.#decisions) if (of === pruneId) this.#decisions.delete(other);
      if (expired.hash !== textHash && snapshots.dropOrphan(expired.snapshot)) this.#texts.delete(expired.hash);
    }
    let stored = this.#texts.get(textHash);
    if (stored === undefined) {
      const { id, bytes } = snapshots.add(textHash, text, packed);
      stored = { number: id, until: bytes };
      this.#texts.set(textHash, stored);
      this.#added += bytes + ROW_BYTES + 4 * body.length;
    }
    const until = this.#nowMs + this.#limits.ttlMs;
    const prune = sql.insert(ADD_PRUNE, [pruneId, stored.number, key, body, this.#nowMs, until]);
    const added = { what: 'prune', id: pruneId, number: prune, snapshot: stored.number, hash: textHash } as const;
    this.#prunes.set(pruneId, { ...added, key, body, until });
    const linked = textOnly ? 'new' : this.#link(key, pruneId, prune, null);
    if (linked === 'new') this.#charge(prune, stored.until);
    this.#own(prune);
    return linked;
  }

  #link(key: string, pruneId: string | null, prune: number | null, body: string | null): 'new' | 'known' {
    const before = this.#decisions.get(key);
    if (before && before.until > this.#nowMs) return 'known';
    const { sql } = this.#tables;
    if (before) sql.run('DELETE FROM decision WHERE key = ?', [key]);
    const until = this.#nowMs + this.#limits.ttlMs;
    sql.run(ADD_DECISION, [key, prune, body, until]);
    this.#decisions.set(key, { key: pruneId, until });
    return 'new';
  }

  /** Charges an original to the conversation that stored it. */
  #charge(prune: number, bytes: number): void {
    const { conversation } = this.#batch;
    if (conversation === undefined) return;
    this.#tables.sql.run('INSERT INTO charge (prune, conversation, bytes) VALUES (?, ?, ?)', [
      prune,
      conversation,
      bytes,
    ]);
    this.#share += bytes;
  }

  #own(prune: number): void {
    const { owner } = this.#batch;
    if (owner === undefined) return;
    this.#tables.sql.run('INSERT OR IGNORE INTO prune_owner (prune, project) VALUES (?, ?)', [prune, owner]);
  }

  /** @throws StoreUnavailable */
  #checkRoom(): void {
    const limit = roomLimit(this.#limits.maxBytes);
    if (this.#added === 0 || this.#stored + this.#added <= limit) return;
    if (this.#tables.meter('stored_bytes') > limit) throw new StoreUnavailable('full');
  }

  /** @returns the prefixes under which another record exists */
  #saveSent(): string[] {
    const until = this.#nowMs + this.#limits.sentTtlMs;
    const rows: (string | number)[][] = [];
    const before: string[] = [];
    const own = new Map<string, SentMessage>((this.#batch.sent ?? []).map((message) => [message.prefix, message]));
    for (const [prefix, message] of own) {
      const body = encodeSent(message);
      const row = this.#sent.get(prefix);
      if (row === undefined || this.#access.expiry('sent', prefix, row.until) <= this.#nowMs) {
        rows.push([prefix, body, until]);
        continue;
      }
      this.#use('sent', prefix, row.until);
      if (row.body !== body) before.push(prefix);
    }
    this.#tables.sql.each('REPLACE INTO sent (prefix, body, expires_ms) VALUES (?, ?, ?)', rows);
    return before;
  }
}
