import type { Io } from 'mcp-pruner/cli/command.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';

/** Variable with the user's key for a proxy, which keeps it off command lines. */
export const KEY_VARIABLE = 'MCP_PRUNER_KEY';

const KEY = /^mpk_[\w-]{43}$/;

/**
 * This user's key for a proxy that requires keys; `null` if there is none.
 *
 * @throws UserError if the value is not a key; the message does not contain it
 */
export function teamKey({ env }: Pick<Io, 'env'>): string | null {
  const key = env[KEY_VARIABLE]?.trim() ?? '';
  if (key === '') return null;
  if (KEY.test(key)) return key;
  throw new UserError(
    `${KEY_VARIABLE} is not a key: expected mpk_ and 43 characters, as mcp-pruner keys create prints it`,
  );
}

/** A proxy URL with embedded key, for clients that can only be configured with a URL. */
export function withKey(origin: string, key: string | null): string {
  return key === null ? origin : `${origin}/k/${key}`;
}
