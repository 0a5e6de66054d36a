import { readFileSync } from 'node:fs';
import picomatch from 'picomatch';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { precedes } from '../base/versions.ts';
import { installedFile } from './installed-file.ts';
import { fitsModel } from './prices.ts';

const fileSchema = z.object({
  client: z.array(
    z.strictObject({
      client: z.string().min(1),
      model: z.string().min(1),
      tokens: z.int().min(1),
      from: z.string().min(1).optional(),
      before: z.string().min(1).optional(),
      day: z.iso.date(),
      source: z.string().min(1),
    }),
  ),
});

/** The length at which a client compacts its history, for the models of a row in `config/clients.toml`. */
export type ClientRow = z.infer<typeof fileSchema>['client'][number];

/**
 * Reads the rows of a file like `config/clients.toml`.
 *
 * @throws ZodError or TomlError for a broken file
 */
function readClientRows(text: string): readonly ClientRow[] {
  return fileSchema.parse(parse(text)).client;
}

/**
 * The first row that fits a client and a model, or `undefined`.
 *
 * @param of.product - product name of the user agent, with its version if it has one: `claude-cli/2.1.332`
 */
export function clientRowOf(
  rows: readonly ClientRow[],
  { product, model }: { readonly product: string; readonly model: string },
): ClientRow | undefined {
  const [name = '', version] = product.split('/');
  return rows.find(
    (row) => picomatch.isMatch(name, row.client) && isWithin(row, version) && fitsModel(row.model, model),
  );
}

/** The product name of a user agent without its version. */
export function productIn(agent: string): string {
  return agent.split('/', 1)[0] ?? '';
}

/** An unknown version is within no limits. */
function isWithin({ from, before }: Pick<ClientRow, 'from' | 'before'>, version: string | undefined): boolean {
  if (version === undefined) return from === undefined && before === undefined;
  return (from === undefined || !precedes(version, from)) && (before === undefined || precedes(version, before));
}

let installed: readonly ClientRow[] | undefined;

/** The rows of this installation; none if the file is missing. */
export function installedClientRows(): readonly ClientRow[] {
  const path = installedFile('clients.toml');
  installed ??= path === null ? [] : readClientRows(readFileSync(path, 'utf8'));
  return installed;
}
