import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Recording } from './conversation.ts';

/** One of the third of all recordings that are looked at only when a rule is settled: told by a hash of its name. */
export function isUnseen({ name, group = name }: Pick<Recording, 'name' | 'group'>): boolean {
  return createHash('sha256').update(group).digest().readUInt32LE() % 3 === 0;
}

/** The recordings of files, one JSON line each. */
export async function* recordingsIn(paths: readonly string[]): AsyncGenerator<Recording> {
  for (const path of paths) {
    for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
      yield JSON.parse(line) as Recording;
    }
  }
}
