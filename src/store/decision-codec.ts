import type { Decision, SentMessage } from '../core/ports.ts';
import { StoreUnavailable } from '../errors/errors.ts';

type PackedCut = readonly [startLine: number, endLine: number, reason: string, full?: true];
type Body = Omit<Decision, 'key' | 'pruneId' | 'cuts'> & { readonly cuts: readonly PackedCut[] };

/**
 * Encodes a decision as JSON, without the fields that have their own columns. JSON escapes lone surrogates, so that a
 * goal or reason with one survives SQLite's UTF-8. Fields added to `Decision` later are included automatically.
 */
export function encodeBody(decision: Decision): string {
  const cuts = decision.cuts.map(
    ({ startLine, endLine, reason, full }): PackedCut =>
      full ? [startLine, endLine, reason, full] : [startLine, endLine, reason],
  );
  return JSON.stringify({ ...decision, key: undefined, pruneId: undefined, cuts });
}

/**
 * Inverse of `encodeBody`.
 *
 * @throws StoreUnavailable `corrupt` for a damaged row; without the parser's message, which quotes the text
 */
export function decodeBody(key: string, pruneId: string | null, json: string): Decision {
  const body = parse(json);
  const cuts = body.cuts.map(([startLine, endLine, reason, full]) =>
    full ? { startLine, endLine, reason, full } : { startLine, endLine, reason },
  );
  return { key, pruneId, ...body, cuts };
}

function parse(json: string): Body {
  try {
    return JSON.parse(json) as Body;
  } catch {
    throw new StoreUnavailable('corrupt');
  }
}

type Packed = readonly [
  text: number,
  json: readonly number[],
  start: number,
  chars: number,
  decision: readonly [string, string | null, string],
];

/** Encodes a record as JSON, without the prefix, which has its own column. */
export function encodeSent({ annotateLines, includeMarkers, shortMarkers, texts }: SentMessage): string {
  const packed = texts.map(
    ({ text, json, start, chars, decision }): Packed => [
      text,
      json,
      start,
      chars,
      [decision.key, decision.pruneId, encodeBody({ ...decision, goal: '' })],
    ],
  );
  return JSON.stringify([annotateLines, includeMarkers, packed, ...(shortMarkers ? [true] : [])]);
}

/**
 * Inverse of `encodeSent`.
 *
 * @throws StoreUnavailable `corrupt` for a damaged row
 */
export function decodeSent(prefix: string, body: string): SentMessage {
  try {
    const [annotateLines, includeMarkers, packed, shortMarkers] = JSON.parse(body) as [
      boolean,
      boolean,
      Packed[],
      true?,
    ];
    const texts = packed.map(([text, json, start, chars, [key, pruneId, decision]]) => {
      const { goal: _, ...rest } = decodeBody(key, pruneId, decision);
      return { text, json, start, chars, decision: rest };
    });
    return { prefix, annotateLines, includeMarkers, shortMarkers, texts };
  } catch (cause) {
    throw new StoreUnavailable('corrupt', { cause });
  }
}
