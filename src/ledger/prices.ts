import picomatch from 'picomatch';
import { parse } from 'smol-toml';
import { z } from 'zod';
import type { TokenCounts } from '../core/ports/ledger.ts';

const dollars = z.number().min(0).max(100_000);

const rowSchema = z.strictObject({
  model: z.string().min(1).max(200),
  provider: z.string().min(1).max(100),
  input: dollars,
  cache_write_5m: dollars.optional(),
  cache_write_1h: dollars.optional(),
  cache_read: dollars.optional(),
  output: dollars,
  min_prefix: z.int().min(0).optional(),
  cache_step: z.int().min(1).optional(),
  cache_seconds: z.int().min(1).optional(),
  day: z.iso.date(),
  source: z.string().min(1),
});

const fileSchema = z.strictObject({ price: z.array(rowSchema).max(2_000) });

/** What a model costs: dollars for a million tokens, and how its provider's cache works. */
export interface Price {
  /** Globs of names, as in the file. */
  readonly model: string;
  readonly provider: string;
  readonly input: number;
  readonly write5m: number;
  readonly write1h: number;
  readonly read: number;
  readonly output: number;
  /** Shortest prefix that is cached, in tokens. */
  readonly minPrefix: number;
  /** What is read comes in multiples of it: caches that work by themselves go by 128 tokens. */
  readonly cacheStep: number;
  /** How long what was not written for an hour stays, in milliseconds. */
  readonly cacheMs: number;
  /** When the row was looked up (`YYYY-MM-DD`), and where. */
  readonly day: string;
  readonly source: string;
}

const MINUTES_5 = 300;
/** Names that are remembered with their price. */
const MAX_NAMES = 1_000;

/** Looks prices up by model. The first row whose glob fits counts. */
export class Prices {
  readonly rows: readonly Price[];
  readonly #matchers: readonly ((name: string) => boolean)[];
  readonly #known = new Map<string, Price | null>();

  constructor(rows: readonly Price[]) {
    this.rows = rows;
    this.#matchers = rows.map(({ model }) => picomatch(model.split(' '), { dot: true, nocase: true }));
  }

  /** `null` for a model that has no row: its tokens count, its dollars do not. */
  of(model: string): Price | null {
    const known = this.#known.get(model);
    if (known !== undefined) return known;
    // gateways put the provider in front: anthropic/claude-opus-5, us.anthropic.claude-opus-5-v1:0
    const bare = model.slice(Math.max(model.lastIndexOf('/'), model.lastIndexOf('.claude')) + 1);
    const at = this.#matchers.findIndex((fits) => fits(model) || fits(bare));
    const price = this.rows[at] ?? null;
    if (this.#known.size < MAX_NAMES) this.#known.set(model, price);
    return price;
  }
}

/**
 * Reads a table of prices.
 *
 * @throws Error in one line when it is none
 */
export function readPrices(text: string): Prices {
  const file = fileSchema.safeParse(parse(text));
  if (!file.success) {
    const [issue] = file.error.issues;
    throw new Error(`${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it is no table of prices'}`);
  }
  return new Prices(
    file.data.price.map((row) => ({
      model: row.model,
      provider: row.provider,
      input: row.input,
      write5m: row.cache_write_5m ?? row.input,
      write1h: row.cache_write_1h ?? row.cache_write_5m ?? row.input,
      read: row.cache_read ?? row.input,
      output: row.output,
      minPrefix: row.min_prefix ?? 0,
      cacheStep: row.cache_step ?? 1,
      cacheMs: 1_000 * (row.cache_seconds ?? MINUTES_5),
      day: row.day,
      source: row.source,
    })),
  );
}

const MILLION = 1_000_000;

/** What tokens cost, in dollars. */
export function dollarsOf(tokens: TokenCounts, price: Price): number {
  const { fresh, write5m, write1h, read, output } = tokens;
  const millions =
    fresh * price.input + write5m * price.write5m + write1h * price.write1h + read * price.read + output * price.output;
  return millions / MILLION;
}
