/** Why new texts were forwarded whole without a decision, independent of size and content. */
export type ForcedReason = 'timeout' | 'overloaded' | 'store_unavailable';

/** Maps a code in `fallbacks` to the reason why new texts were forwarded whole; `null` for other codes. */
export function forcedReason(code: string): ForcedReason | null {
  if (code === 'timeout' || code === 'overloaded') return code;
  return code.startsWith('store_') ? 'store_unavailable' : null;
}

const WORDS: Readonly<Record<ForcedReason, readonly [why: string, advice: string]>> = {
  timeout: [
    'deciding about new tool results took too long, so they passed whole',
    'the machine is far too busy; if it is not, MCP_PRUNER_TIMEOUT_MS is too low',
  ],
  overloaded: [
    'too many large requests came at once, so new tool results passed whole',
    'give the process a larger heap (NODE_OPTIONS=--max-old-space-size) or start another one',
  ],
  store_unavailable: [
    'the store could not be used, so new tool results passed whole',
    'mcp-pruner doctor and /health name the problem of the store',
  ],
};

export function forcedWords(reason: ForcedReason): readonly [why: string, advice: string] {
  return WORDS[reason];
}

export function isForcedReason(word: string): word is ForcedReason {
  return Object.hasOwn(WORDS, word);
}
