import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Path of a file of the built package. `npm test` builds it first. */
export function built(file: string): string {
  const path = fileURLToPath(new URL(`../../dist/${file}`, import.meta.url));
  if (!existsSync(path)) throw new Error(`${path} is missing: run npm run build`);
  return path;
}
