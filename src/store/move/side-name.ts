import { createHash } from 'node:crypto';

/** A short name for a store's location, without the password or the path. */
export function sideName(where: string): string {
  return createHash('sha256').update(where).digest('hex').slice(0, 16);
}
