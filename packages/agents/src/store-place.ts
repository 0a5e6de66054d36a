import { type ProxyHealth, proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';

/** Location of the configured store for display, without password. */
export function storePlace({ databaseUrl, dbPath }: Settings): string {
  if (databaseUrl === null) return `the SQLite file ${dbPath}`;
  const [beforeQuery = ''] = databaseUrl.split('?', 1); // the query may hold a password; not `URL`, because hosts may be a list
  const place = beforeQuery.slice(Math.max(beforeQuery.lastIndexOf('@') + 1, beforeQuery.indexOf('://') + 3));
  return `the database ${place}`;
}

/**
 * Compares the configured store with the running proxy's store.
 *
 * @param running - `null` if no proxy runs at the address of these settings
 * @param ownId - `null` if these settings have no store yet
 * @returns the difference, in one line; `null` if there is none
 */
export function storeDiffers(settings: Settings, running: ProxyHealth | null, ownId: string | null): string | null {
  const theirs = running?.storeId;
  if (theirs === undefined || theirs === ownId) return null;
  return `the proxy at ${proxyUrl(settings)} uses another store than ${storePlace(settings)}`;
}

export const SAME_STORE_ADVICE =
  'give this command the MCP_PRUNER_DATABASE_URL or MCP_PRUNER_DB_PATH of that proxy, or the MCP_PRUNER_PORT of another one';
