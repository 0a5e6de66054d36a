import { parse } from 'smol-toml';
import { z } from 'zod';

const dollars = z.number().min(0).max(100_000);
const tokens = z.int().min(0);

/** Prices of a row or of one of its bands. */
const rates = {
  input: dollars,
  cache_write_5m: dollars.optional(),
  cache_write_1h: dollars.optional(),
  cache_read: dollars.optional(),
  output: dollars,
};

const rowSchema = z.object({
  model: z.string().min(1).max(2_000),
  provider: z.string().min(1).max(100).default('own'),
  from: z.iso.date().optional(),
  above: tokens.optional(),
  ...rates,
  min_prefix: tokens.optional(),
  cache_step: z.int().min(1).optional(),
  cache_seconds: z.int().min(1).optional(),
  cache: z.literal('automatic').optional(),
  day: z.iso.date(),
  source: z.string().min(1),
});

const bandSchema = z.object({ above: tokens, ...rates }).partial({ input: true, output: true });
const bandsSchema = z.array(bandSchema).max(20);

type OneRow = z.infer<typeof rowSchema>;

/** A row of a price file. A row with `above` is a band of the other rows that match a model. */
export type PriceRow = OneRow & {
  /** The row's own bands. */
  readonly bands: readonly OneRow[];
};

const words = z.string().min(1).max(2_000);
const looked = { provider: z.string().min(1).max(100).optional(), day: z.iso.date(), source: z.string().min(1) };
const factorSchema = z.object({
  served: words,
  model: words.default('*'),
  factor: z.number().min(0).max(100),
  ...looked,
});
const toolSchema = z.object({ tool: words, model: words.default('*'), per_thousand: dollars, ...looked });

/** What a way of serving costs, as a factor of the prices of a model. */
export type FactorRow = z.infer<typeof factorSchema>;
/** What a thousand calls of a provider's own tool cost, in dollars. */
export type ToolRow = z.infer<typeof toolSchema>;

/** The contents of a price file. */
export interface PriceFile {
  readonly rows: readonly PriceRow[];
  readonly factors: readonly FactorRow[];
  readonly tools: readonly ToolRow[];
  /** Whether installed rows are ignored. */
  readonly replace: boolean;
  /** Why the file or some rows are ignored, one line each. */
  readonly problems: readonly string[];
  /** Unknown keys, one line each. */
  readonly warnings: readonly string[];
}

const MAX_ROWS = 2_000;
const MAX_NOTES = 20;
const FILE_KEYS: readonly string[] = ['price', 'factor', 'tool', 'replace'];
const BAND = 'band';

/** Reads a price file in TOML. Invalid rows are skipped and reported; the rest is used. Never throws. */
export function readPriceFile(text: string): PriceFile {
  let file: Record<string, unknown>;
  try {
    file = parse(text);
  } catch (cause) {
    const why = cause instanceof Error ? firstLine(cause.message) : 'it is not TOML';
    return { rows: [], factors: [], tools: [], replace: false, problems: [why], warnings: [] };
  }
  const { price, replace = false } = file;
  const list: readonly unknown[] = Array.isArray(price) ? price : [];
  const problems: string[] = [];
  const hasOthers = Array.isArray(file.factor) || Array.isArray(file.tool);
  if (!Array.isArray(price) && !hasOthers) problems.push('price: it has no [[price]] row');
  if (list.length > MAX_ROWS) problems.push(`price: rows after the first ${MAX_ROWS} are left out`);
  if (typeof replace !== 'boolean') problems.push('replace: it is neither true nor false');
  const warnings = unknownKeys('', file, FILE_KEYS);
  const rows = list.slice(0, MAX_ROWS).flatMap((row, i) => {
    const read = readRow(row, `price.${i}`);
    problems.push(...read.problems);
    warnings.push(...read.warnings);
    return read.rows;
  });
  const factors = readRows('factor', factorSchema, file.factor, problems, warnings);
  const tools = readRows('tool', toolSchema, file.tool, problems, warnings);
  const few = (notes: readonly string[]): readonly string[] => notes.slice(0, MAX_NOTES);
  return { rows, factors, tools, replace: replace === true, problems: few(problems), warnings: few(warnings) };
}

type ReadRow = Pick<PriceFile, 'rows' | 'problems' | 'warnings'>;

/** Reads rows without bands. Broken ones are skipped and reported. */
function readRows<Row>(
  name: string,
  schema: z.ZodType<Row> & { readonly shape: object },
  list: unknown,
  problems: string[],
  warnings: string[],
): Row[] {
  if (list !== undefined && !Array.isArray(list)) problems.push(`${name}: it is not a list of [[${name}]] rows`);
  return (Array.isArray(list) ? (list as unknown[]) : []).slice(0, MAX_ROWS).flatMap((row, i) => {
    const path = `${name}.${i}`;
    if (isTable(row)) warnings.push(...unknownKeys(`${path}.`, row, Object.keys(schema.shape)));
    const read = schema.safeParse(row);
    if (read.success) return [read.data];
    problems.push(problemOf(path, read.error));
    return [];
  });
}

/**
 * Reads one row with its bands. A broken row is ignored completely, because it would be a different price without some
 * of its bands.
 */
function readRow(value: unknown, path: string): ReadRow {
  const { [BAND]: bands = [], ...own } = isTable(value) ? value : { model: undefined };
  const warnings = unknownKeys(`${path}.`, own, Object.keys(rowSchema.shape));
  const row = rowSchema.safeParse(own);
  if (!row.success) return { rows: [], problems: [problemOf(path, row.error)], warnings };
  const above = bandsSchema.safeParse(bands);
  if (!above.success) return { rows: [], problems: [problemOf(`${path}.${BAND}`, above.error)], warnings };
  for (const [i, band] of (Array.isArray(bands) ? bands : []).entries()) {
    warnings.push(...unknownKeys(`${path}.${BAND}.${i}.`, isTable(band) ? band : {}, Object.keys(bandSchema.shape)));
  }
  const inBands = above.data.map((band) => ({ ...row.data, ...defined(band) }));
  return { rows: [{ ...row.data, bands: inBands }], problems: [], warnings };
}

/** Drops undefined keys of a table, which would override those of the row. */
function defined<T extends object>(table: T): { [Key in keyof T]: NonNullable<T[Key]> } {
  return Object.fromEntries(Object.entries(table).filter(([, value]) => value !== undefined)) as {
    [Key in keyof T]: NonNullable<T[Key]>;
  };
}

function isTable(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unknownKeys(path: string, table: object, known: readonly string[]): string[] {
  return Object.keys(table)
    .filter((key) => !known.includes(key))
    .map((key) => `${path}${key} is not a known key and is ignored`);
}

function problemOf(path: string, { issues: [issue] }: z.ZodError): string {
  const where = [path, ...(issue?.path ?? [])].join('.');
  return `${where}: ${firstLine(issue?.message ?? 'it is not a price')}`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
