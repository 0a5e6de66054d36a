import type { LookedUp, LookUp } from '../../core/ports.ts';
import { decodeBody, decodeSent } from '../decision-codec.ts';
import type { Access } from './access.ts';
import type { Tables } from './tables.ts';

/** Everything about a request in one statement. */
const LOOK_UP = `
  SELECT 'sent' AS what, prefix AS id, NULL AS prune, body, expires_ms FROM sent WHERE prefix IN LIST(?)
  UNION ALL SELECT 'served', hash, NULL, '', expires_ms FROM served WHERE hash IN LIST(?)
  UNION ALL SELECT 'decision', d.key, p.prune_id, coalesce(d.body, p.body, ''), coalesce(p.expires_ms, d.expires_ms)
  FROM decision d LEFT JOIN prune p ON p.id = d.prune WHERE d.key IN LIST(?)`;

type LookUpRow = readonly [
  what: 'sent' | 'served' | 'decision',
  id: string,
  prune: string | null,
  body: string,
  expiresMs: number,
];

/** Reads what is unexpired, and records its use. */
export function lookUpIn(
  { sql }: Tables,
  { prefixes = [], hashes = [], keys = [] }: LookUp,
  access: Pick<Access, 'use'>,
  nowMs: number,
): LookedUp {
  const sent: LookedUp['sent'] = new Map();
  const served: LookedUp['served'] = new Set();
  const decisions: LookedUp['decisions'] = new Map();
  for (const [what, id, prune, body, expiresMs] of sql.tuplesOf<LookUpRow>(LOOK_UP, [prefixes, hashes, keys])) {
    const kind = what !== 'decision' ? what : prune === null ? 'whole' : 'prune';
    if (!access.use(kind, prune ?? id, expiresMs, nowMs)) continue;
    if (what === 'sent') sent.set(id, decodeSent(id, body));
    else if (what === 'served') served.add(id);
    else decisions.set(id, decodeBody(id, prune, body));
  }
  return { sent, served, decisions };
}
