import { readFileSync } from 'node:fs';
import picomatch from 'picomatch';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { installedFile } from './installed-file.ts';
import { fitsModel } from './prices.ts';
import { precedes } from './versions.ts';

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

/** A row of `config/clients.toml`: the length at which a client compacts its history, for some models. */
export type ClientRow = z.infer<typeof fileSchema>['client'][number];

/**
 * Parses the rows of `config/clients.toml`.
 *
 * @throws ZodError or TomlError for a broken file
 */
function readClientRows(text: string): readonly ClientRow[] {
  return fileSchema.parse(parse(text)).client;
}

/**
 * The first row that matches a client and a model, or `undefined`.
 *
 * @param of.product - product name of the user agent, with its version if present: `claude-cli/2.1.332`
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

/** An unknown version is never within limits. */
function isWithin({ from, before }: Pick<ClientRow, 'from' | 'before'>, version: string | undefined): boolean {
  if (version === undefined) return from === undefined && before === undefined;
  return (from === undefined || !precedes(version, from)) && (before === undefined || precedes(version, before));
}

let installed: readonly ClientRow[] | undefined;

let readOwn: () => readonly Pick<ClientRow, 'client' | 'model' | 'tokens'>[] = () => [];

/** Sets how the lengths in the user's own settings of clients are read, which win over everything else. */
export function setOwnLengths(read: typeof readOwn): void {
  readOwn = read;
}

/** The lengths in the user's own settings of clients. */
export function ownClientRows(): readonly ClientRow[] {
  return readOwn().map((row) => ({ ...row, day: '', source: "the client's own settings" }));
}

/** The installed rows; none if the file is missing. */
export function installedClientRows(): readonly ClientRow[] {
  const path = installedFile('clients.toml');
  installed ??= path === null ? [] : readClientRows(readFileSync(path, 'utf8'));
  return installed;
}
