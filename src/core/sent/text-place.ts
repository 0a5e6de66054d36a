import type { Edit } from '../../engine/text/render.ts';
import { encodeEdits, endOfString, parsed } from '../../wires/json/value.ts';
import type { TextPlace } from '../ports.ts';

/** A text with its position. */
interface PlacedText {
  readonly text: string;
  /** Converts edits of the text into edits of the decoded string that contains it. */
  readonly lift: (edits: readonly Edit[]) => Edit[];
}

/** Finds the text at a position in a decoded string; `null` if there is no such position. */
export function textAt(decoded: string, { json, start, chars }: TextPlace): PlacedText | null {
  const around: { readonly raw: string; readonly base: number }[] = [];
  let text = decoded;
  for (const at of json) {
    const end = endOfString(text, at);
    const value = parsed(text.slice(at, end));
    if (typeof value !== 'string') return null;
    around.push({ raw: text.slice(at + 1, end - 1), base: at + 1 });
    text = value;
  }
  return {
    text: text.slice(start, start + chars),
    lift: (edits) => around.reduceRight((inner, { raw, base }) => encodeEdits(raw, inner, base), shift(edits, start)),
  };
}

/** Shifts edits of a part to offsets in the whole. */
export function shift(edits: readonly Edit[], by: number): Edit[] {
  return edits.map(({ start, end, text }) => ({ start: start + by, end: end + by, text }));
}
