import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { pipeline } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Recording } from './conversation.ts';

/** One of the third of all recordings that are looked at only when a rule is settled: told by a hash of its name. */
export function isUnseen({ name, group = name }: Pick<Recording, 'name' | 'group'>): boolean {
  return createHash('sha256').update(group).digest().readUInt32LE() % 3 === 0;
}

/** The recordings of files, one JSON line each. Files named `.gz` are decompressed. */
export async function* recordingsIn(paths: readonly string[]): AsyncGenerator<Recording> {
  for (const path of paths) {
    const file = createReadStream(path);
    const input = path.endsWith('.gz') ? pipeline(file, createGunzip(), () => {}) : file;
    for await (const line of createInterface({ input })) {
      yield JSON.parse(line) as Recording;
    }
  }
}
