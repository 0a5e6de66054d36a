import type { Io } from 'mcp-pruner/cli/command.ts';
import type { Loaded } from 'mcp-pruner/config/load.ts';

/**
 * Environment that makes an MCP server use the same store and settings, because agents pass on little of theirs.
 * Excludes secrets, since it may be written to a file.
 */
export function serverEnv({ settings, origins, configFile, table }: Loaded, { env }: Io): Record<string, string> {
  const given = table.rows.flatMap(({ key, setting }) => {
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
