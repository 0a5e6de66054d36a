import { createHash } from 'node:crypto';
import type { ScannedMessage } from './dialect.ts';

/**
 * Stands for a message by who speaks, its texts, and the calls made and answered: what all clients repeat from turn to
 * turn, however they spell it. Marks for caches, pictures, reasoning and arguments of calls do not count: a message that
 * differs in these alone is cut as the other was.
 */
export function meaningOf(body: Buffer, { role, texts, calls }: ScannedMessage): string {
  const hash = createHash('sha256').update(role);
  for (const { use, callId, literal } of texts) {
    hash.update(`\0${use}\0${callId}\0`).update(body.subarray(literal.start, literal.end));
  }
  for (const { id, name } of calls) hash.update(`\0call\0${id}\0${name}`);
  return hash.digest('hex').slice(0, 32);
}
