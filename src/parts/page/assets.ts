import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** One file of the page, as it is sent. */
export interface Asset {
  readonly type: string;
  readonly body: Buffer;
  /** Changes with the content. */
  readonly etag: string;
}

const TYPES: Readonly<Record<string, string>> = {
  'index.html': 'text/html; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'style.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
};

/** Where the built page lies: in `dist/page`, seen from `dist/parts` or from the sources. */
const PLACES = ['../page', '../../../dist/page'].map((path) => fileURLToPath(new URL(path, import.meta.url)));

/**
 * Reads the files of the page, all of them at once, so that a later upgrade on disk cannot mix two versions.
 *
 * @param folder - where they are; by default where the build puts them
 * @throws the error of reading when they are not there
 */
export async function readAssets(folder: string = placeOf()): Promise<ReadonlyMap<string, Asset>> {
  const files = Object.entries(TYPES).map(async ([file, type]): Promise<[string, Asset]> => {
    const body = await readFile(join(folder, file));
    return [file, { type, body, etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"` }];
  });
  return new Map(await Promise.all(files));
}

function placeOf(): string {
  const [first = ''] = PLACES;
  return PLACES.find((place) => existsSync(join(place, 'app.js'))) ?? first;
}
