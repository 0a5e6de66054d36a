import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Locations of the folder `config`, relative to `dist`, `dist/parts` and the sources. */
const FOLDERS = ['../config/', '../../config/', '../../../config/'];

/** Path of a file in the installation's `config`; `null` if it is missing. */
export function installedFile(name: string): string | null {
  const places = FOLDERS.map((folder) => fileURLToPath(new URL(`${folder}${name}`, import.meta.url)));
  return places.find((place) => existsSync(place)) ?? null;
}
