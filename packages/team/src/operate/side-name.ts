import { createHash } from 'node:crypto';

/** Short name of a store's location, without password or path. */
export function sideName(where: string): string {
  return createHash('sha256').update(where).digest('hex').slice(0, 16);
}
