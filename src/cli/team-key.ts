import { UserError } from '../errors.ts';
import type { Io } from './command.ts';

/** Where its user's key of a proxy stands: on no command line, and in no file of ours but those of agents. */
export const KEY_VARIABLE = 'MCP_PRUNER_KEY';

const KEY = /^mpk_[\w-]{43}$/;

/**
 * The key that this user has of a proxy that asks for keys; `null` where there is none.
 *
 * @throws UserError where what stands there is no key; it is not repeated
 */
export function teamKey({ env }: Pick<Io, 'env'>): string | null {
  const key = env[KEY_VARIABLE]?.trim() ?? '';
  if (key === '') return null;
  if (KEY.test(key)) return key;
  throw new UserError(
    `${KEY_VARIABLE} is not a key: expected mpk_ and 43 characters, as mcp-pruner keys create prints it`,
  );
}

/** The address of a proxy as a key opens it, for clients that can be told an address and nothing else. */
export function withKey(origin: string, key: string | null): string {
  return key === null ? origin : `${origin}/k/${key}`;
}
