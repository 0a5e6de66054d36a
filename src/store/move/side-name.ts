import { createHash } from 'node:crypto';

/** A short name that stands for where a store lies; it holds no password and no path. */
export function sideName(where: string): string {
  return createHash('sha256').update(where).digest('hex').slice(0, 16);
}
