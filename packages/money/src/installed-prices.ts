import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import { installedFile } from './installed-file.ts';
import { type PriceSource, Prices } from './prices.ts';

/** The prices of the file named in the settings, followed by the installed ones. Never throws. */
export function pricesOf({ prices: named }: { readonly prices: string | null }): Prices {
  const own = named === null ? [] : [sourceAt(resolve(named))];
  const installed = installedFile('prices.toml');
  return new Prices([...own, ...(installed === null ? [] : [sourceAt(installed)])]);
}

function sourceAt(path: string): PriceSource {
  try {
    return { path, text: readFileSync(path, 'utf8') };
  } catch (cause) {
    const code = errorCode(cause) || 'it cannot be read';
    return { path, unreadable: code === 'ENOENT' ? 'there is no such file' : code };
  }
}
