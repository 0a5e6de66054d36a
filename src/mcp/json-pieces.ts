/** Maximum number of characters of a long string written in one piece. */
const PIECE_CHARS = 256 * 1024;

/**
 * Serialises plain data to JSON in pieces, so that a text of hundreds of megabytes is never copied as a whole and may
 * exceed the maximum string length. Joined, the pieces equal the result of `JSON.stringify`. A `bigint` is written as a
 * number.
 */
export function* jsonPieces(value: unknown): Generator<string> {
  if (typeof value === 'string' && value.length > PIECE_CHARS) {
    yield '"';
    for (let at = 0; at < value.length; ) {
      const end = pieceEnd(value, at);
      yield JSON.stringify(value.slice(at, end)).slice(1, -1);
      at = end;
    }
    yield '"';
    return;
  }
  if (Array.isArray(value)) {
    let separator = '[';
    for (const item of value) {
      yield separator;
      yield* jsonPieces(item ?? null);
      separator = ',';
    }
    yield separator === '[' ? '[]' : ']';
    return;
  }
  if (typeof value === 'object' && value !== null) {
    let separator = '{';
    for (const [key, member] of Object.entries(value)) {
      if (member === undefined) continue;
      yield `${separator}${JSON.stringify(key)}:`;
      yield* jsonPieces(member);
      separator = ',';
    }
    yield separator === '{' ? '{}' : '}';
    return;
  }
  yield typeof value === 'bigint' ? String(value) : JSON.stringify(value);
}

/** Never splits a surrogate pair, whose halves would be escaped separately. */
function pieceEnd(text: string, at: number): number {
  const end = Math.min(at + PIECE_CHARS, text.length);
  const last = text.charCodeAt(end - 1);
  return end < text.length && last >= 0xd800 && last <= 0xdbff ? end + 1 : end;
}
