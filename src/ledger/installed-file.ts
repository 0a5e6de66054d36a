import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Places of the folder `config`, relative to `dist`, `dist/parts` and the sources. */
const FOLDERS = ['../config/', '../../config/'];

/** The path of a file in this installation's `config`, or `null` if it is missing. */
export function installedFile(name: string): string | null {
  const places = FOLDERS.map((folder) => fileURLToPath(new URL(`${folder}${name}`, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? null;
}
