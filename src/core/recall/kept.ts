import { splitLines } from '../../engine/text/lines.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import { longJsonFields } from '../../json/fields.ts';
import { keyOf, pruneIdOf, textHash } from '../hash.ts';
import type { NewDecision } from '../ports.ts';

/** Results are kept from this length on, in UTF-16 units. */
export const MIN_KEPT_CHARS = 1_000;
/** How deep JSON in strings of JSON is looked into. */
const MAX_NESTING = 3;

/** The prune id of a text that is stored whole; it depends on the text alone. */
export function keptId(hash: string): string {
  return pruneIdOf(keptKey(hash));
}

function keptKey(hash: string): string {
  return keyOf('kept', hash);
}

/** A text that is kept as it is, with nothing cut. */
export function keptText(text: string, hash: string, tool: string): NewDecision {
  const lines = splitLines(text).count;
  const tokens = estimateTokens(text);
  const key = keptKey(hash);
  return {
    text,
    decision: {
      key,
      pruneId: pruneIdOf(key),
      textHash: hash,
      cuts: [],
      sourceType: 'docs',
      kind: 'kept',
      whole: 'kept',
      warnings: [],
      lines,
      keptLines: lines,
      tokensBefore: tokens,
      tokensAfter: tokens,
      goal: '',
      tool,
    },
  };
}

/** The prune ids of the stored texts of a result; for JSON, of the long texts in it. */
export function keptIdsIn(text: string, depth = 0): string[] {
  if (text.length < MIN_KEPT_CHARS) return [];
  const fields = depth < MAX_NESTING ? longJsonFields(text, MIN_KEPT_CHARS) : null;
  return fields ? fields.flatMap(({ value }) => keptIdsIn(value, depth + 1)) : [keptId(textHash(text))];
}
