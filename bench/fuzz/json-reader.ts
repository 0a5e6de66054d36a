/** A string of a body, with where it stands: keys and indexes from the top. Offsets include the quotes. */
export interface Leaf {
  readonly path: readonly (string | number)[];
  readonly start: number;
  readonly end: number;
}

/** The bytes are not JSON in their structure. */
export class NotJson extends Error {}

/**
 * All string values of a JSON text, in order. Written apart from the product's own walk on purpose: it is what that one is
 * judged by. Knows nothing of escapes but that they exist, and of scalars nothing at all.
 */
export function stringsOf(text: string): Leaf[] {
  const leaves: Leaf[] = [];
  let at = 0;
  const space = (): void => {
    while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  };
  const string = (): string => {
    const start = at;
    if (text.charAt(at) !== '"') throw new NotJson();
    for (at++; text.charAt(at) !== '"'; at++) {
      if (at >= text.length) throw new NotJson();
      if (text.charAt(at) === '\\') at++;
    }
    at++;
    return text.slice(start, at);
  };
  const value = (path: readonly (string | number)[], depth: number): void => {
    if (depth > 2_000) throw new NotJson();
    space();
    const first = text.charAt(at);
    if (first === '"') {
      const start = at;
      string();
      leaves.push({ path, start, end: at });
    } else if (first === '{' || first === '[') {
      const close = first === '{' ? '}' : ']';
      at++;
      space();
      if (text.charAt(at) === close) at++;
      else
        for (let index = 0; ; index++) {
          space();
          let step: string | number = index;
          if (first === '{') {
            step = keyText(string());
            space();
            if (text.charAt(at++) !== ':') throw new NotJson();
          }
          value([...path, step], depth + 1);
          space();
          const next = text.charAt(at++);
          if (next === close) break;
          if (next !== ',') throw new NotJson();
        }
    } else {
      const start = at;
      while (at < text.length && !' \t\r\n,:]}"{['.includes(text.charAt(at))) at++;
      if (at === start) throw new NotJson();
    }
  };
  value([], 0);
  space();
  if (at < text.length) throw new NotJson();
  return leaves;
}

function keyText(literal: string): string {
  try {
    return String(JSON.parse(literal));
  } catch {
    return literal;
  }
}
