import { readFileSync } from 'node:fs';
import picomatch from 'picomatch';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { installedFile } from './installed-file.ts';
import { fitsModel } from './prices.ts';

const fileSchema = z.object({
  client: z.array(
    z.strictObject({
      client: z.string().min(1),
      model: z.string().min(1),
      tokens: z.int().min(1),
      version: z.string().min(1),
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

/** The first row that fits a client and a model, or `undefined`. `product` is the product name of the user agent. */
export function clientRowOf(
  rows: readonly ClientRow[],
  { product, model }: { readonly product: string; readonly model: string },
): ClientRow | undefined {
  return rows.find((row) => picomatch.isMatch(product, row.client) && fitsModel(row.model, model));
}

let installed: readonly ClientRow[] | undefined;

/** The rows of this installation; none if the file is missing. */
export function installedClientRows(): readonly ClientRow[] {
  const path = installedFile('clients.toml');
  installed ??= path === null ? [] : readClientRows(readFileSync(path, 'utf8'));
  return installed;
}
