import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type PriceSource, Prices } from './prices.ts';

/** Places of the installed price table, relative to `dist`, `dist/parts` and the sources. */
const PLACES = ['../config/prices.toml', '../../config/prices.toml'].map((path) =>
  fileURLToPath(new URL(path, import.meta.url)),
);

/** The prices of the file named in the settings, followed by the installed ones. Never throws. */
export function pricesOf({ prices: named }: { readonly prices: string | null }): Prices {
  const own = named === null ? [] : [sourceAt(resolve(named))];
  const builtIn = PLACES.filter((place) => existsSync(place))
    .slice(0, 1)
    .map(sourceAt);
  return new Prices([...own, ...builtIn]);
}

function sourceAt(path: string): PriceSource {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (cause) {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'it cannot be read';
    return { path, unreadable: code === 'ENOENT' ? 'there is no such file' : code };
  }
}
