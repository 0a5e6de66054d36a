/** The value of a JSON text, or `undefined` where it is none. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A field of an object; `undefined` of anything else. */
export function field(value: unknown, name: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

/** A count of tokens, or `null` if the value is none. */
export function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
