import type { Decision } from '../core/ports.ts';
import { StoreUnavailable } from '../errors.ts';

type PackedCut = readonly [startLine: number, endLine: number, reason: string];
type Body = Omit<Decision, 'key' | 'pruneId' | 'cuts'> & { readonly cuts: readonly PackedCut[] };

/**
 * A decision as JSON, without the fields that its row contains. JSON escapes lone surrogates, so that a goal or reason
 * with one survives SQLite's UTF-8. Fields added to `Decision` later are included automatically.
 */
export function encodeBody(decision: Decision): string {
  const cuts = decision.cuts.map(({ startLine, endLine, reason }): PackedCut => [startLine, endLine, reason]);
  return JSON.stringify({ ...decision, key: undefined, pruneId: undefined, cuts });
}

/**
 * Inverse of `encodeBody`.
 *
 * @throws StoreUnavailable `corrupt` for a damaged row; without the parser's message, which quotes the text
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
