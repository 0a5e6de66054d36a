import { UserError } from '../errors/errors.ts';
import type { Io } from './command.ts';

/**
 * The variable with the user's key for a proxy, so that it is on no command line, and only in files of agents.
 */
export const KEY_VARIABLE = 'MCP_PRUNER_KEY';

const KEY = /^mpk_[\w-]{43}$/;

/**
 * This user's key for a proxy that requires keys; `null` if there is none.
 *
 * @throws UserError if the value is no key; the message does not repeat it
 */
export function teamKey({ env }: Pick<Io, 'env'>): string | null {
  const key = env[KEY_VARIABLE]?.trim() ?? '';
  if (key === '') return null;
  if (KEY.test(key)) return key;
  throw new UserError(
    `${KEY_VARIABLE} is not a key: expected mpk_ and 43 characters, as mcp-pruner keys create prints it`,
  );
}

/** The URL of a proxy with a key embedded, for clients that can be configured with a URL only. */
export function withKey(origin: string, key: string | null): string {
  return key === null ? origin : `${origin}/k/${key}`;
}
