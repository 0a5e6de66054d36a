import type { Decision, NewDecision, StoreBatch } from 'mcp-pruner/core/ports.ts';
import { decodeBody, encodeBody, encodeSent } from 'mcp-pruner/store/decision-codec.ts';
import type { Lifetimes } from 'mcp-pruner/store/lifetimes.ts';
import { encodeText, plainPacking } from 'mcp-pruner/store/text-codec.ts';

interface CommitLimits extends Lifetimes {
  readonly nowMs: number;
  readonly waitMs: number;
  /** Size beyond which new originals are rejected, in bytes. */
  readonly roomBytes: number;
  /** Maximum number of bytes stored for the batch's conversation. */
  readonly shareBytes: number;
}

export interface CommitRow {
  readonly what: 'refused' | 'known' | 'missing' | 'alive' | 'sent_before' | 'sent_same';
  readonly id: string;
  readonly prune_id: string | null;
  readonly body: string | null;
  readonly until_ms: number | null;
}

/** One statement, one round trip. */
export const COMMIT =
  'SELECT what, id, prune_id, body, until_ms FROM mcp_pruner.commit_batch($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)';

/** Like `COMMIT`, for a project (last value) that becomes an owner of the originals. */
export const COMMIT_OWNED =
  'SELECT what, id, prune_id, body, until_ms FROM mcp_pruner.commit_owned($20, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)';

export function commitValues(batch: StoreBatch, limits: CommitLimits): unknown[] {
  const { sent = [] } = batch;
  const items = batch.decisions.map(columnsOf);
  const column = <Key extends keyof Columns>(key: Key): Columns[Key][] => items.map((item) => item[key]);
  return [
    limits.nowMs,
    limits.ttlMs,
    Math.max(1, Math.trunc(limits.waitMs)),
    limits.roomBytes,
    batch.conversation === undefined ? -1 : Math.trunc(limits.shareBytes),
    batch.conversation ?? null,
    batch.wholeOrNothing === true,
    column('key'),
    column('pruneId'),
    column('hash'),
    column('body'),
    column('encoding'),
    column('packing'),
    column('bytes'),
    column('data'),
    batch.touch,
    limits.sentTtlMs,
    sent.map(({ prefix }) => prefix),
    sent.map(encodeSent),
  ];
}

interface Columns {
  readonly key: string;
  readonly pruneId: string | null;
  readonly hash: string;
  readonly body: string;
  readonly encoding: number;
  readonly packing: number;
  readonly bytes: number;
  readonly data: Buffer;
}

const NOTHING = Buffer.alloc(0);

function columnsOf({ decision, text }: NewDecision): Columns {
  const { encoding, data } = decision.pruneId === null ? { encoding: 0, data: NOTHING } : encodeText(text);
  return {
    key: decision.key,
    pruneId: decision.pruneId,
    hash: decision.textHash,
    body: encodeBody(decision),
    encoding,
    packing: plainPacking(data),
    bytes: data.length,
    data,
  };
}

export interface DecisionRow {
  readonly key: string;
  readonly prune_id: string | null;
  readonly body: string | null;
  readonly expires_ms: number;
}

const FIND_DECISIONS = `
  SELECT d.key, p.prune_id, coalesce(d.body, p.body) AS body,
    CASE WHEN d.prune IS NULL THEN d.expires_ms ELSE p.expires_ms END AS expires_ms
  FROM mcp_pruner.decision d LEFT JOIN mcp_pruner.prune p ON p.id = d.prune WHERE d.key = ANY ($1)`;

/** A row of `LOOK_UP`; the key of a sent-message record is its prefix. */
export interface LookUpRow extends DecisionRow {
  readonly what: 'sent' | 'decision';
}

/** Sent-message records ($1) and decisions ($2) in one round trip. */
export const LOOK_UP = `
  SELECT 'sent' AS what, prefix AS key, NULL AS prune_id, body, expires_ms FROM mcp_pruner.sent WHERE prefix = ANY ($1)
  UNION ALL
  SELECT 'decision', key, prune_id, body, expires_ms FROM (${FIND_DECISIONS.replace('$1', '$2')}) d`;

/** @throws StoreUnavailable `corrupt` for a damaged row */
export function decisionOf({ key, prune_id, body }: Omit<DecisionRow, 'expires_ms'>): Decision {
  return decodeBody(key, prune_id, body ?? '');
}
