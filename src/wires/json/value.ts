import type { Edit } from '../../engine/text/render.ts';

/** Parses a JSON text; `undefined` if it is invalid. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A field of an object; `undefined` for other values. */
export function field(value: unknown, name: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** The value if it is a finite number, such as a count of tokens; otherwise `null`. */
export function finiteNumber(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/**
 * Largest plausible count of tokens in one answer: twice the largest context of any model (ten million). A larger count
 * is a provider's error, and databases cannot store counts beyond 2^63.
 */
export const MAX_COUNT = 20_000_000;

/**
 * Translates offsets in a decoded JSON string to offsets in its encoded form (without quotes).
 *
 * @param raw - the encoded form with its escapes
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
function encodeText(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

/**
 * Turns edits of a decoded string into edits of its encoded form, so that every byte outside the cuts stays as the
 * client wrote it.
 *
 * @param base - added to every offset: start of the encoded form in the edited text
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

/** A long string inside a JSON text: `[start, end)` is the literal in the text, quotes included. */
interface JsonField {
  readonly start: number;
  readonly end: number;
  readonly value: string;
}

/**
 * Finds long string values in a text that is entirely JSON (a tool result wrapped by its client). Keys and one-line
 * strings are skipped, because nothing can be cut in them, except one-line strings that are JSON with lines inside.
 *
 * @param minChars - minimum length of a value, in UTF-16 units
 * @returns `null` if the text is not JSON or has no such value
 */
export function longJsonFields(text: string, minChars: number): JsonField[] | null {
  if (!opensJson(text) || !text.includes('\\n')) return null;
  const fields = longJsonStrings(text, minChars)?.filter(({ value }) => mayHoldLines(value)) ?? [];
  return fields.length > 0 ? fields : null;
}

/**
 * Finds long string values in a text that is entirely JSON. Keys are skipped.
 *
 * @param minChars - minimum length of a value, in UTF-16 units
 * @returns `null` if the text is not a JSON object, array or string
 */
export function longJsonStrings(text: string, minChars: number): JsonField[] | null {
  if (!opensJson(text)) return null;
  try {
    JSON.parse(text);
  } catch {
    return null;
  }
  const fields: JsonField[] = [];
  for (let start = text.indexOf('"'); start >= 0; ) {
    const end = endOfString(text, start);
    if (end - start >= minChars && !isKey(text, end)) {
      const value: unknown = JSON.parse(text.slice(start, end));
      if (typeof value === 'string' && value.length >= minChars) fields.push({ start, end, value });
    }
    start = text.indexOf('"', end);
  }
  return fields;
}

/** Whether a value has several lines, or is one-line JSON that contains multi-line strings. */
function mayHoldLines(value: string): boolean {
  return value.includes('\n') || (opensJson(value) && value.includes('\\n'));
}

function opensJson(text: string): boolean {
  const first = /[^ \t\n\r]/.exec(text)?.[0];
  return first === '{' || first === '[' || first === '"';
}

/** End (exclusive) of the string that opens at `start`; the text is known to be valid JSON. */
export function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (;;) {
    const quote = text.indexOf('"', i);
    if (quote < 0) return text.length;
    let slash = quote - 1;
    while (slash >= i && text.charCodeAt(slash) === 92) slash--;
    // `i` is never in the middle of an escape, so the run of backslashes before the quote begins at or after it.
    if ((quote - slash) % 2 === 1) return quote + 1;
    i = quote + 1;
  }
}

function isKey(text: string, end: number): boolean {
  let i = end;
  for (let code = text.charCodeAt(i); code === 32 || code === 9 || code === 10 || code === 13; )
    code = text.charCodeAt(++i);
  return text.charAt(i) === ':';
}
