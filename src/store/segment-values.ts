import type { NotedSegment } from '../core/ports/segments.ts';

/** The values of a recorded segment in either database, from `name` on in the order of `SEGMENT_COLUMNS`. */
export function segmentValues(segment: NotedSegment): (string | number | Buffer)[] {
  return [
    segment.id,
    segment.ordinal,
    segment.role,
    segment.type,
    segment.effect,
    Math.round(segment.tokens),
    segment.lines,
    segment.tool.toWellFormed(),
    segment.path.toWellFormed(),
    segment.startLine,
    segment.endLine,
    segment.callKey,
    bytesOf(segment.about),
    bytesOf(segment.mentions),
    bytesOf(segment.edited),
  ];
}

/** As `segmentValues` gives them. */
export const SEGMENT_COLUMNS =
  'name, ordinal, role, type, effect, tokens, lines, tool, path, start_line, end_line, call_key, about, mentions, edited';

function bytesOf(keys: Uint32Array): Buffer {
  return Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
}

/** Copies, because the driver's buffers may not be aligned for 32-bit numbers. */
export function keysOf(bytes: Buffer): Uint32Array {
  const keys = new Uint32Array(bytes.length >> 2);
  new Uint8Array(keys.buffer).set(bytes.subarray(0, keys.byteLength));
  return keys;
}
