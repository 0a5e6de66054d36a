import type { Edit } from '../engine/text/render.ts';

/**
 * Translates offsets in a decoded JSON string to offsets in its encoded form (without quotes).
 *
 * @param raw - the encoded form, escapes as they stand
 * @param offsets - ascending offsets (UTF-16 units) in the decoded string
 */
export function encodedOffsets(raw: string, offsets: readonly number[]): number[] {
  const out: number[] = [];
  let at = 0;
  let decoded = 0;
  let next = 0;
  while (next < offsets.length) {
    const backslash = raw.indexOf('\\', at);
    const plain = (backslash < 0 ? raw.length : backslash) - at;
    for (let target = offsets[next]; target !== undefined && target <= decoded + plain; target = offsets[++next]) {
      out.push(at + target - decoded);
    }
    if (backslash < 0) break;
    decoded += plain + 1;
    at = backslash + (raw.charCodeAt(backslash + 1) === 0x75 ? 6 : 2);
  }
  if (out.length !== offsets.length) throw new RangeError('offset beyond the end of the string');
  return out;
}

/** Encodes a text as the inside of a JSON string. */
export function encodeText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Turns edits of a decoded string into edits of its encoded form, so that every byte outside the cuts stays as the
 * client wrote it.
 *
 * @param base - added to every offset: where the encoded form begins in what is edited
 */
export function encodeEdits(raw: string, edits: readonly Edit[], base: number): Edit[] {
  const offsets = encodedOffsets(
    raw,
    edits.flatMap(({ start, end }) => [start, end]),
  );
  return edits.map(({ text }, i) => ({
    start: base + (offsets[2 * i] ?? 0),
    end: base + (offsets[2 * i + 1] ?? 0),
    text: encodeText(text),
  }));
}
