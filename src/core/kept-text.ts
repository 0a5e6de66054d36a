import { splitLines } from '../engine/text/lines.ts';
import { estimateTokens } from '../engine/text/tokens.ts';
import { keyOf, pruneIdOf } from './hash.ts';
import type { NewDecision } from './ports.ts';

/** Prune id of a text that is stored whole, derived from the text alone. */
export function keptId(hash: string): string {
  return pruneIdOf(keptKey(hash));
}

/** Key of the decision that stores a text without cuts. */
function keptKey(hash: string): string {
  return keyOf('kept', hash);
}

/** A decision that stores a text without cuts. */
export function keptText(text: string, hash: string, tool: string): NewDecision {
  const lines = splitLines(text).count;
  const tokens = estimateTokens(text);
  const key = keptKey(hash);
  return {
    text,
    textOnly: true,
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
