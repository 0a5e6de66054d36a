import type { Loaded } from '../config/load.ts';
import { rows } from '../config/settings.ts';
import type { Io } from './command.ts';

/**
 * What the environment of an MCP server must say, so that it works on the same store by the same rules: agents pass on
 * little of their own. Secrets are left out, since it may end up in a file.
 */
export function serverEnv({ settings, origins, configFile }: Loaded, { env }: Io): Record<string, string> {
  const given = rows.flatMap(({ key, setting }) => {
    const { from, name } = origins[key];
    const value = env[name];
    return from === 'env' && !setting.secret && value !== undefined ? [[name, value] as const] : [];
  });
  return {
    ...Object.fromEntries(given),
    MCP_PRUNER_DB_PATH: settings.dbPath,
    ...(configFile === null ? {} : { MCP_PRUNER_CONFIG: configFile }),
  };
}
