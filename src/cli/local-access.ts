import { localTokenFile, makeLocalToken, readLocalToken } from '../config/local-token.ts';
import type { Settings } from '../config/settings.ts';
import type { Io } from './command.ts';

/** The tools that agents behind the proxy need. Others would cost tokens in every request. */
const TOOLS = 'recover_text,recall';

export function rpcAddress(origin: string): string {
  return `${origin}/rpc?tools=${TOOLS}`;
}

/**
 * The token that a proxy with these settings requires for `/rpc` and `/prune`.
 *
 * @param make - whether to create the machine's token file if it is missing
 * @returns `null` if none is required
 * @throws SettingsError if other users can read the file
 */
export function accessToken(settings: Settings, io: Io, make: boolean): string | null {
  if (settings.authToken !== null || settings.localToken === 'off') return settings.authToken;
  const file = localTokenFile(io, settings);
  return make ? makeLocalToken(file) : readLocalToken(file);
}
