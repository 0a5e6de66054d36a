import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { z } from 'zod';
import { installedFile } from './installed-file.ts';
import { fitsModel } from './prices.ts';

const fileSchema = z.object({
  compaction: z.array(
    z.strictObject({
      wire: z.enum(['messages', 'responses']),
      model: z.string().min(1),
      day: z.iso.date(),
      source: z.string().min(1),
    }),
  ),
});

type Row = z.infer<typeof fileSchema>['compaction'][number];
let installed: readonly Row[] | undefined;

/** Whether a provider documents compaction on demand for a model (`config/compaction.toml`). */
export function compactsOnDemand(wire: string, model: string): boolean {
  const path = installedFile('compaction.toml');
  installed ??= path === null ? [] : fileSchema.parse(parse(readFileSync(path, 'utf8'))).compaction;
  return model !== '' && installed.some((row) => row.wire === wire && fitsModel(row.model, model));
}
