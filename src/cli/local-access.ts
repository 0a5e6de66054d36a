import { localTokenFile, makeLocalToken, readLocalToken } from '../config/local-token.ts';
import type { Settings } from '../config/settings.ts';
import type { Io } from './command.ts';

/** The tools that an agent behind the proxy needs: all others would cost it tokens in every request. */
const TOOLS = 'recover_text,recall';

/** Address of the MCP server of a proxy, as agents are told it. */
export function rpcAddress(origin: string): string {
  return `${origin}/rpc?tools=${TOOLS}`;
}

/**
 * The token that a proxy with these settings asks for at `/rpc` and `/prune`.
 *
 * @param make - whether to make the file of the machine's own token where there is none yet
 * @returns `null` when it asks for none
 * @throws SettingsError when others can read the file
 */
export function accessToken(settings: Settings, io: Io, make: boolean): string | null {
  if (settings.authToken !== null || settings.localToken === 'off') return settings.authToken;
  const file = localTokenFile(io, settings);
  return make ? makeLocalToken(file) : readLocalToken(file);
}
