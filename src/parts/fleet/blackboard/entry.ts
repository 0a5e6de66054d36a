import type { Turns } from '../turns.ts';

/** Largest JSON text of one value, in bytes. */
export const MAX_VALUE_BYTES = 256 * 1024;
export const MAX_DEPTH = 64;
/** Largest total JSON text of the values in one batch, in bytes. */
const MAX_BATCH_BYTES = 1024 * 1024;

/** A value that the blackboard rejects, with its index in the batch. */
export class ValueError extends Error {
  override readonly name = 'ValueError';
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

/** The namespace of a key: the part before the first `:`, `/` or `|`, else the whole key. */
export function namespaceOf(key: string): string {
  const end = key.search(/[:/|]/);
  return end > 0 ? key.slice(0, end) : key;
}

/** Normalises tags for storage: trimmed, lower case, unique, sorted, none empty. */
export function normaliseTags(tags: readonly string[]): string[] {
  const clean = tags.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== '');
  return [...new Set(clean)].sort();
}

/**
 * The JSON of the values of a batch.
 *
 * @throws ValueError for the first value that is too large or too deep
 */
export function* valueTexts(values: readonly unknown[]): Turns<string[]> {
  let total = 0;
  const texts: string[] = [];
  for (const [index, value] of values.entries()) {
    if (isDeeper(value, MAX_DEPTH)) throw new ValueError(index, `a value is at most ${MAX_DEPTH} levels deep`);
    const text = JSON.stringify(value ?? null);
    const bytes = Buffer.byteLength(text);
    total += bytes;
    if (bytes > MAX_VALUE_BYTES) throw new ValueError(index, `a value takes at most ${MAX_VALUE_BYTES} bytes of JSON`);
    if (total > MAX_BATCH_BYTES) throw new ValueError(index, `a batch takes at most ${MAX_BATCH_BYTES} bytes of JSON`);
    texts.push(text);
    yield;
  }
  return texts;
}

/** Whether objects and lists nest deeper than `levels`. The walk itself stops at that depth. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((part) => isDeeper(part, levels - 1));
}
