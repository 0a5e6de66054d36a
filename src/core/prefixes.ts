import type { Dialect, ScannedMessage } from '../dialects/dialect.ts';
import { keyOf } from './hash.ts';

/**
 * For each message what stands for it and all before it, as they are meant. Instructions do not count: agents put the
 * date or the state of a repository there, and what was sent of the other messages stays sent.
 *
 * @param known - those of the first messages
 * @param start - what stands for all that was said before the first message
 */
export function prefixesOf(
  dialect: Dialect,
  body: Buffer,
  messages: readonly ScannedMessage[],
  known: readonly string[] = [],
  start = '',
): readonly string[] {
  if (known.length === messages.length) return known;
  const prefixes = [...known];
  for (const message of messages.slice(known.length)) {
    const before = prefixes.at(-1) ?? start;
    prefixes.push(message.role === 'other' ? before : keyOf(before, dialect.meaning(body, message)));
  }
  return prefixes;
}
