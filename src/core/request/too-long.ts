import type { Span } from '../../json/cursor.ts';

/** Chosen: some three million tokens, which no model takes. Two million characters take at most as much in JSON. */
const MAX_LITERAL_BYTES = 12 * 1024 * 1024;

/**
 * Whether a string of a body is never decoded. Decoding one of 60 MB would block all other requests for two seconds.
 */
export function isTooLong({ start, end }: Span): boolean {
  return end - start > MAX_LITERAL_BYTES;
}
