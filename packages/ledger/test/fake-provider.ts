import { createHash } from 'node:crypto';
import type { ReportedUsage } from 'mcp-pruner/core/ports/request-facts.ts';

/** A piece of a prompt: what it says, as a name, and its tokens. */
export interface Piece {
  readonly says: string;
  readonly tokens: number;
}

/** How a provider caches and what it asks for: dollars for a million tokens. */
export interface ProviderRules {
  readonly automatic: boolean;
  readonly minPrefix: number;
  readonly step: number;
  readonly lifetimeMs: number;
  readonly input: number;
  readonly write: number;
  readonly read: number;
  readonly output: number;
}

/**
 * A provider that caches prefixes as the documentation of the real ones has it, and sends a bill. It knows nothing of the
 * ledger. Explicit caches write up to the last breakpoint, here the end of the prompt, unless it is too short; automatic
 * ones read by steps. A hit renews what it hit.
 */
export class FakeProvider {
  readonly #rules: ProviderRules;
  readonly #cache = new Map<string, number>();
  dollars = 0;

  constructor(rules: ProviderRules) {
    this.#rules = rules;
  }

  /** @returns what the answer reports */
  request(model: string, pieces: readonly Piece[], output: number, nowMs: number): ReportedUsage {
    const { automatic, minPrefix, step, lifetimeMs, ...price } = this.#rules;
    const total = pieces.reduce((sum, { tokens }) => sum + tokens, 0);
    let hit = 0;
    let upTo = 0;
    let name = model;
    const ends: string[] = [];
    for (const { says, tokens } of pieces) {
      name = createHash('sha1').update(name).update(says).digest('base64'); // a prompt as a key would be hashed whole, each time
      upTo += tokens;
      ends.push(name);
      if ((this.#cache.get(name) ?? -1) >= nowMs && upTo >= minPrefix) hit = Math.floor(upTo / step) * step;
    }
    const caches = total >= minPrefix;
    if (automatic) for (const end of ends) this.#cache.set(end, nowMs + lifetimeMs);
    else if (caches) this.#cache.set(name, nowMs + lifetimeMs);
    const written = automatic || !caches ? 0 : total - hit;
    const fresh = total - hit - written;
    this.dollars +=
      (fresh * price.input + written * price.write + hit * price.read + output * price.output) / 1_000_000;
    const long = lifetimeMs > 1_000_000;
    return { input: total, output, read: hit, written, written1h: long ? written : 0 };
  }
}
