import type { Message } from '../recordings/conversation.ts';

/** As in the field that the proxy adds: what stays, when results are cleared, and the least tokens for which they are. */
const KEEP = 12;
const TRIGGER = 27;
const LEAST_TOKENS = 3_000;

/** Stands for a result that the provider has cleared. */
export const CLEARED = '[cleared by the provider]';

/**
 * Simulates `clear_tool_uses_20250919` of Anthropic's API: as soon as more results than the trigger are not cleared, all
 * but the newest are, if that frees enough. Between such steps the prompt only grows, so its cache can be read.
 */
export class ProviderClearing {
  readonly #results: readonly number[];
  readonly #perToken: number;
  #cleared = 0;

  constructor(messages: readonly Message[], perToken: number) {
    this.#results = messages.flatMap(({ role }, i) => (role === 'tool' ? i : []));
    this.#perToken = perToken;
  }

  /** The texts of a request as the model gets them. Requests come in order. */
  apply(texts: readonly string[]): string[] {
    const results = this.#results.filter((i) => i < texts.length);
    if (results.length - this.#cleared > TRIGGER) {
      const upTo = results.length - KEEP;
      const chars = results.slice(this.#cleared, upTo).reduce((sum, i) => sum + (texts[i]?.length ?? 0), 0);
      if (chars / this.#perToken >= LEAST_TOKENS) this.#cleared = upTo;
    }
    const cleared = new Set(results.slice(0, this.#cleared));
    return texts.map((text, i) => (cleared.has(i) ? CLEARED : text));
  }
}
