import type { Decision } from '../core/ports.ts';
import { StoreUnavailable } from '../errors.ts';

type PackedCut = readonly [startLine: number, endLine: number, reason: string];
type Body = Omit<Decision, 'key' | 'pruneId' | 'cuts'> & { readonly cuts: readonly PackedCut[] };

/**
 * A decision as JSON without what its row says already. JSON escapes lone surrogates, so that a goal or reason that
 * holds one survives SQLite's UTF-8. Fields that `Decision` gains later travel along by themselves.
 */
export function encodeBody(decision: Decision): string {
  const cuts = decision.cuts.map(({ startLine, endLine, reason }): PackedCut => [startLine, endLine, reason]);
  return JSON.stringify({ ...decision, key: undefined, pruneId: undefined, cuts });
}

/**
 * Inverse of `encodeBody`.
 *
 * @throws StoreUnavailable `corrupt` when the row is damaged; without the parser's message, which quotes the text
 */
export function decodeBody(key: string, pruneId: string | null, json: string): Decision {
  const body = parse(json);
  const cuts = body.cuts.map(([startLine, endLine, reason]) => ({ startLine, endLine, reason }));
  return { key, pruneId, ...body, cuts };
}

function parse(json: string): Body {
  try {
    return JSON.parse(json) as Body;
  } catch {
    throw new StoreUnavailable('corrupt');
  }
}
