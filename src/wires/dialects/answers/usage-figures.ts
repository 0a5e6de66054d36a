import { field, finiteNumber } from '../../json/value.ts';
import type { BilledTokens, ProviderUsage } from '../dialect.ts';
import type { AnswerFormat, Counts, Figures } from './format.ts';

const FIGURES = ['input', 'output', 'read', 'written', 'writtenLong', 'reasoning'] as const;

/** The value behind a path of keys joined by dots; `undefined` if there is none. */
export function valueAt(value: unknown, path: string): unknown {
  return path.split('.').reduce(field, value);
}

/**
 * Adds up the usage of an answer. A stream may report it in several events: in parts, as running totals, or followed by
 * zeros. So the largest value of each figure applies.
 */
export class UsageFigures {
  readonly #format: AnswerFormat;
  #most: Counts = {};
  /** All input tokens; `null` until they are reported. */
  #total: number | null = null;
  #besides: Counts = {};

  constructor(format: AnswerFormat) {
    this.#format = format;
  }

  add(usage: object): void {
    const { figures, omitted, besides } = this.#format;
    const counts = countsIn(usage, figures);
    if (Object.keys(counts).length === 0) return;
    this.#most = larger(this.#most, { ...omitted, ...counts });
    // an event without input completes an earlier one
    const total = this.#inputOf(counts.input === undefined ? this.#most : counts, usage);
    if (total !== undefined) this.#total = Math.max(this.#total ?? 0, total);
    const further = (besides?.(usage) ?? []).map((call) => countsIn(call, figures));
    this.#besides = larger(this.#besides, further.reduce(added, {}));
  }

  /** `null` if nothing was reported. */
  sum(): ProviderUsage | null {
    const { output, read, written, writtenLong, reasoning } = this.#most;
    if (this.#total === null && output === undefined) return null;
    return {
      promptTokens: this.#total,
      completionTokens: output ?? null,
      cachedTokens: read ?? null,
      cacheWriteTokens: written,
      cacheWrite1hTokens: writtenLong,
      reasoningTokens: reasoning,
      besides: Object.keys(this.#besides).length === 0 ? undefined : this.#billed(this.#besides),
    };
  }

  /** All input tokens, cached ones included. */
  #inputOf({ input, output = 0, read = 0, written = 0 }: Counts, usage: object): number | undefined {
    if (input === undefined) return undefined;
    const cached = read + written;
    if (!this.#format.inputIncludesCache) return input + cached;
    // some gateways leave cached tokens out, against the definition of the wire
    const excludes = cached > 0 && (input < cached || field(usage, 'total_tokens') === input + cached + output);
    return excludes ? input + cached : input;
  }

  #billed(counts: Counts): BilledTokens {
    const { output = 0, read = 0, written = 0, writtenLong = 0 } = counts;
    return { input: this.#inputOf(counts, {}) ?? 0, output, read, written, written1h: writtenLong };
  }
}

/** A spelling of a figure: the summands' paths as lists of keys. */
interface Spelling {
  readonly figure: (typeof FIGURES)[number];
  readonly summands: readonly (readonly string[])[];
}

/** The spellings of each format, read once. */
const spellings = new WeakMap<Figures, readonly Spelling[]>();

function spellingsOf(figures: Figures): readonly Spelling[] {
  const known = spellings.get(figures);
  if (known) return known;
  const read = FIGURES.flatMap((figure) =>
    (figures[figure] ?? []).map((spelling) => ({
      figure,
      summands: spelling.split('+').map((path) => path.split('.')),
    })),
  );
  spellings.set(figures, read);
  return read;
}

function countsIn(usage: object, figures: Figures): Counts {
  const counts: Counts = {};
  for (const { figure, summands } of spellingsOf(figures)) {
    let sum: number | null = null;
    for (const path of summands) {
      const count = finiteNumber(path.reduce<unknown>(field, usage));
      if (count !== null) sum = (sum ?? 0) + Math.max(0, count);
    }
    if (sum !== null) counts[figure] = Math.max(counts[figure] ?? 0, sum);
  }
  return counts;
}

function larger(a: Counts, b: Counts): Counts {
  return combined(a, b, Math.max);
}

function added(a: Counts, b: Counts): Counts {
  return combined(a, b, (x, y) => x + y);
}

function combined(a: Counts, b: Counts, combine: (x: number, y: number) => number): Counts {
  const counts: Counts = { ...a };
  for (const figure of FIGURES) if (b[figure] !== undefined) counts[figure] = combine(a[figure] ?? 0, b[figure]);
  return counts;
}
