import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { TokenCounts } from 'mcp-pruner/core/ports/ledger.ts';
import picomatch from 'picomatch';
import { type FactorRow, type PriceFile, type PriceRow, readPriceFile, type ToolRow } from './price-file.ts';

/** Dollars per million tokens. */
export interface Rates {
  readonly input: number;
  readonly write5m: number;
  readonly write1h: number;
  readonly read: number;
  readonly output: number;
}

/** The price of a model: dollars per million tokens, and the rules of its provider's cache. */
export interface Price extends Rates {
  /** Model names and globs, as in the file. */
  readonly model: string;
  readonly provider: string;
  /** First day (UTC, `YYYY-MM-DD`) of the price; `null` if it applies from the beginning. */
  readonly from: string | null;
  /** Minimum length of a cached prefix, in tokens. */
  readonly minPrefix: number;
  /** Granularity of cache reads in tokens; automatic caches use blocks of 128. */
  readonly cacheStep: number;
  /** The provider caches without a request to do so. */
  readonly automatic: boolean;
  /** Default cache lifetime (not the one-hour option), in milliseconds. */
  readonly cacheMs: number;
  /** Prices of a whole request whose input exceeds `above` tokens, in ascending order. */
  readonly bands: readonly (Rates & { readonly above: number })[];
  /** When (`YYYY-MM-DD`) and where the row was looked up. */
  readonly day: string;
  readonly source: string;
}

/** A price file: path, and text or the reason why it cannot be read. */
export type PriceSource = { readonly path: string } & ({ readonly text: string } | { readonly unreadable: string });

const MINUTES_5 = 300;
/** Maximum number of cached name look-ups. */
const MAX_NAMES = 1_000;

/** Rows of price files other than prices of tokens. */
type PriceExtras = Pick<PriceFile, 'factors' | 'tools'>;

interface Entry {
  readonly row: PriceRow;
  readonly fits: (name: string) => boolean;
}

interface Table extends PriceFile {
  readonly entries: readonly Entry[];
}

/** Parsed tables by file text, cached because parsing takes as long as a whole request. */
const tablesRead = new BoundedMap<string, Table>(2);

function tableOf(text: string): Table {
  const known = tablesRead.get(text);
  if (known) return known;
  const file = readPriceFile(text);
  const table = { ...file, entries: file.rows.map((row) => ({ row, fits: fitOf(row.model) })) };
  tablesRead.set(text, table);
  return table;
}

/** Looks prices up by model and day. */
export class Prices {
  /** Rows of each file, in order of precedence. */
  readonly #tables: readonly (readonly Entry[])[];
  /** Factors of ways of serving, and prices of the providers' own tools, in order of precedence. */
  readonly extras: PriceExtras;
  readonly #known = new Map<string, readonly (readonly PriceRow[])[]>();
  #ceiling: Price | undefined;
  /** Prices by model on the day of the last look-up. */
  readonly #ofDay = new Map<string, Price | null>();
  #day = '';
  /** Ignored files and rows: `price file broken: <path>: <reason>`. */
  readonly problems: readonly string[];
  /** Unknown keys of files, one line each. */
  readonly warnings: readonly string[];

  /** @param sources - in order of precedence; sources after one with `replace = true` are ignored */
  constructor(sources: readonly PriceSource[]) {
    const tables: (readonly Entry[])[] = [];
    const factors: FactorRow[] = [];
    const tools: ToolRow[] = [];
    const problems: string[] = [];
    const warnings: string[] = [];
    for (const source of sources) {
      const broken = (reason: string): string => `price file broken: ${source.path}: ${reason}`;
      if (!('text' in source)) {
        problems.push(broken(source.unreadable));
        continue;
      }
      const file = tableOf(source.text);
      problems.push(...file.problems.map(broken));
      warnings.push(...file.warnings.map((warning) => `${source.path}: ${warning}`));
      tables.push(file.entries);
      factors.push(...file.factors);
      tools.push(...file.tools);
      if (file.replace) break;
    }
    this.#tables = tables;
    this.extras = { factors, tools };
    this.problems = problems;
    this.warnings = warnings;
  }

  /** All prices, in order of precedence. */
  rows(): readonly Price[] {
    return this.#tables.flatMap((table) =>
      table
        .filter(({ row }) => row.above === undefined)
        .map(({ row }) => priceOf(row, [...row.bands, ...apartOf(row, table)])),
    );
  }

  /**
   * The price of a model at a time; `null` if no row matches, in which case only tokens are counted. Earlier files take
   * precedence; within a file, the latest matching row that is not after that day applies.
   *
   * @param cloud - cloud of the request; on Azure, a model is named like its deployment
   */
  of(model: string, atMs: number, cloud?: string): Price | null {
    return this.#rowOf(model, atMs) ?? (cloud === 'azure' ? this.#rowOf(this.#nameIn(model), atMs) : null);
  }

  /** The highest rate of each kind in any row: an upper bound for models without a price; zero without rows. */
  ceiling(): Price {
    this.#ceiling ??= ceilingOf(this.rows());
    return this.#ceiling;
  }

  /**
   * Whether no row of a model has a price for cache writes with the longer of two lifetimes. They are then billed at
   * the lower price of the shorter lifetime.
   */
  pricesShort(model: string): boolean {
    const rows = this.#fitting(model).flat();
    return rows.length > 0 && rows.every(({ cache_write_1h }) => cache_write_1h === undefined);
  }

  #rowOf(model: string, atMs: number): Price | null {
    const day = dayOf(atMs);
    if (this.#day !== day) {
      this.#ofDay.clear();
      this.#day = day;
    }
    const known = this.#ofDay.get(model);
    if (known !== undefined) return known;
    const price = this.#readRow(model, day);
    if (this.#ofDay.size < MAX_NAMES) this.#ofDay.set(model, price);
    return price;
  }

  #readRow(model: string, day: string): Price | null {
    for (const rows of this.#fitting(model)) {
      const base = latest(rows, day, undefined);
      if (base === undefined) continue;
      const apart = [...new Set(rows.flatMap(({ above }) => above ?? []))].map((above) => latest(rows, day, above));
      return priceOf(base, [...base.bands, ...apart.filter((band) => band !== undefined)]);
    }
    return null;
  }

  /** The longest known model name in a deployment name such as prod-gpt-5-mini; `''` if there is none. */
  #nameIn(deployment: string): string {
    const name = `-${alike(deployment).replaceAll('_', '-')}-`;
    const words = this.#tables.flat().flatMap(({ row }) => alike(row.model).split(/\s+/));
    return words.reduce(
      (longest, word) => (word.length > longest.length && name.includes(`-${word}-`) ? word : longest),
      '',
    );
  }

  #fitting(model: string): readonly (readonly PriceRow[])[] {
    const known = this.#known.get(model);
    if (known !== undefined) return known;
    const names = namesOf(model);
    const rows = this.#tables.map((table) =>
      table.filter(({ fits }) => names.some((name) => fits(name))).map(({ row }) => row),
    );
    if (this.#known.size < MAX_NAMES) this.#known.set(model, rows);
    return rows;
  }
}

function ceilingOf(prices: readonly Price[]): Price {
  const rates = prices.flatMap(({ bands, ...price }): readonly Rates[] => [price, ...bands]);
  const highest = (kind: keyof Rates): number => rates.reduce((most, rate) => Math.max(most, rate[kind]), 0);
  return {
    model: '',
    provider: '',
    from: null,
    input: highest('input'),
    write5m: highest('write5m'),
    write1h: highest('write1h'),
    read: highest('read'),
    output: highest('output'),
    minPrefix: 0,
    cacheStep: 1,
    automatic: false,
    cacheMs: 1_000 * MINUTES_5,
    bands: [],
    day: '',
    source: '',
  };
}

/** The row in force on a day: the latest one, or the first of several that begin on the same day. */
function latest(rows: readonly PriceRow[], day: string, above: number | undefined): PriceRow | undefined {
  let best: PriceRow | undefined;
  for (const row of rows) {
    if (row.above !== above || (row.from ?? '') > day) continue;
    if (best === undefined || (row.from ?? '') > (best.from ?? '')) best = row;
  }
  return best;
}

/** Bands given as separate rows, with the same names and day as a row. */
function apartOf({ model, from }: PriceRow, table: readonly Entry[]): readonly PriceRow[] {
  return table
    .map(({ row }) => row)
    .filter((row) => row.above !== undefined && row.model === model && row.from === from);
}

function ratesOf(row: PriceRow['bands'][number]): Rates {
  return {
    input: row.input,
    write5m: row.cache_write_5m ?? row.input,
    write1h: row.cache_write_1h ?? row.cache_write_5m ?? row.input,
    read: row.cache_read ?? row.input,
    output: row.output,
  };
}

function priceOf(row: PriceRow, bands: PriceRow['bands']): Price {
  return {
    model: row.model,
    provider: row.provider,
    from: row.from ?? null,
    ...ratesOf(row),
    minPrefix: row.min_prefix ?? 0,
    cacheStep: row.cache_step ?? 1,
    automatic: row.cache === 'automatic' || (row.cache_step ?? 1) > 1,
    cacheMs: 1_000 * (row.cache_seconds ?? MINUTES_5),
    bands: bands.map((band) => ({ above: band.above ?? 0, ...ratesOf(band) })).sort((a, b) => a.above - b.above),
    day: row.day,
    source: row.source,
  };
}

/** The name or glob of a row that matches a model, or `null`. */
export function fittingName({ model: words }: Price, model: string): string | null {
  const names = namesOf(model);
  return words.split(/\s+/).find((word) => names.some(fitOf(word))) ?? null;
}

/** Whether one of the names and globs of a row, separated by blanks, matches a model. */
export function fitsModel(words: string, model: string): boolean {
  return namesOf(model).some(fitOf(words));
}

/** Names by which a model is looked up: unchanged, and without prefixes and suffixes. */
function namesOf(model: string): readonly string[] {
  return [...new Set([alike(model), alike(bareName(model))])];
}

/**
 * Gateway routing suffixes without a separate price. `:free` has a row. Source:
 * https://openrouter.ai/docs/guides/routing/model-variants/overview.md
 */
const ROUTING = /:(?:beta|nitro|thinking|floor|exacto|online|extended)$/;

/** A version of a model by date: gpt-5-2025-08-07, claude-opus-4-5@20251101, kimi-k2-0905, …-09-2025. */
const VERSION = /^[-@](?:\d{4}|\d{6}|\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2}|\d{2}-\d{4})$/;

/** Returns a function that tests whether a name or glob of a row matches a model. */
function fitOf(model: string): (name: string) => boolean {
  const words = alike(model).split(/\s+/).filter(Boolean);
  const globs = words.filter((word) => /[*?[\]{}()!]/.test(word));
  const bare = words.filter((word) => !globs.includes(word));
  const fitsGlob = globs.length === 0 ? () => false : picomatch(globs, { dot: true });
  return (name) =>
    fitsGlob(name) ||
    bare.some((word) => name === word || (name.startsWith(word) && VERSION.test(name.slice(word.length))));
}

/** Normalises a name: case is ignored, and a dot equals a dash. */
function alike(name: string): string {
  return name.toLowerCase().replaceAll('.', '-');
}

/**
 * The name of a model without prefixes (route, region) and suffixes of gateways and clouds: anthropic/claude-opus-5,
 * us.anthropic.claude-opus-5-v1:0, claude-opus-5[1m], anthropic/claude-opus-5:nitro.
 */
function bareName(model: string): string {
  const bare = model
    .slice(model.lastIndexOf('/') + 1)
    .replace(/^(?:[a-z-]{1,30}\.){1,3}(?=[a-z])/i, '')
    .replace(/-v\d{1,3}:\d{1,3}$/, '')
    .replace(ROUTING, '')
    .replace(/\[1m\]$/, '');
  return bare.startsWith('claude') ? bare.replace(/-v\d{1,3}$/, '') : bare;
}

const MILLION = 1_000_000;

/** Total input tokens. */
export function inputOf({ fresh, write5m, write1h, read }: TokenCounts): number {
  return fresh + write5m + write1h + read;
}

/** Prices of a request, by the size of its input. */
export function ratesFor(price: Price, inputTokens: number): Rates {
  const { bands } = price;
  for (let i = bands.length - 1; i >= 0; i--) {
    const band = bands[i];
    if (band !== undefined && inputTokens > band.above) return band;
  }
  return price;
}

/**
 * Cost of tokens, in dollars.
 *
 * @param input - tokens of the whole input, if `tokens` are only a part
 */
export function dollarsOf(tokens: TokenCounts, price: Price, input = inputOf(tokens)): number {
  return dollarsAt(tokens, ratesFor(price, input));
}

/** Cost of tokens at the prices of their request, in dollars. */
export function dollarsAt({ fresh, write5m, write1h, read, output }: TokenCounts, rates: Rates): number {
  const millions =
    fresh * rates.input + write5m * rates.write5m + write1h * rates.write1h + read * rates.read + output * rates.output;
  return millions / MILLION;
}

const DAY_MS = 86_400_000;
let lastDay = Number.NaN;
let lastName = '';

/** The day of a timestamp (UTC, `YYYY-MM-DD`). */
export function dayOf(atMs: number): string {
  const day = Math.floor(atMs / DAY_MS);
  if (day !== lastDay) {
    lastName = new Date(atMs).toISOString().slice(0, 10);
    lastDay = day;
  }
  return lastName;
}
