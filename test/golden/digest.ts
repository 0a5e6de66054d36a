import { createHash } from 'node:crypto';

/** One case: its name, what is worth knowing of its result at a glance, and a hash of all of it. */
export interface GoldenResult {
  readonly name: string;
  readonly about: string;
  readonly hash: string;
}

/** A short hash of bytes, or of a value as JSON. */
export function digest(value: unknown): string {
  const bytes = Buffer.isBuffer(value) ? value : JSON.stringify(value);
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
