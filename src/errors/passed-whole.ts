/** Why new texts passed whole without being decided about: their size and contents do not matter for it. */
export type ForcedReason = 'timeout' | 'overloaded' | 'store_unavailable';

/** Why new texts of a request passed whole, by a code of its `fallbacks`; `null` for codes that mean something else. */
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

/** What happened and what can be done, for people. */
export function forcedWords(reason: ForcedReason): readonly [why: string, advice: string] {
  return WORDS[reason];
}

/** Whether a word is a reason. */
export function isForcedReason(word: string): word is ForcedReason {
  return Object.hasOwn(WORDS, word);
}
