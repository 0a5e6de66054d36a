import type { SentMessage } from '../core/ports/sent.ts';
import { StoreUnavailable } from '../errors.ts';
import { decodeBody, encodeBody } from './decision-codec.ts';

type Packed = readonly [
  text: number,
  json: readonly number[],
  start: number,
  chars: number,
  decision: readonly [string, string | null, string],
];

/** A record as JSON, without the prefix, which its row contains. */
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
