import type { McpServers, ProviderRunOptions } from './mcp-servers.ts';

/** Options of the Claude Agent SDK that start these servers; empty if there are none. */
export function toClaudeOptions({ mcpServers }: ProviderRunOptions): { readonly mcpServers?: McpServers } {
  return mcpServers === undefined ? {} : { mcpServers };
}

/**
 * Arguments of `codex` that start these servers.
 *
 * @throws RangeError for a name or variable that `--config` cannot represent
 */
export function toCodexArgs({ mcpServers = {} }: ProviderRunOptions): string[] {
  return Object.entries(mcpServers).flatMap(([name, { command, args, env = {} }]) => {
    const key = `mcp_servers.${plainKey(name)}`;
    const settings = [
      `${key}.command=${tomlString(command)}`,
      ...(args === undefined ? [] : [`${key}.args=[${args.map(tomlString).join(',')}]`]),
      ...Object.entries(env).map(([variable, value]) => `${key}.env.${plainKey(variable)}=${tomlString(value)}`),
    ];
    return settings.flatMap((setting) => ['--config', setting]);
  });
}

/** Codex splits the keys of `--config` at every dot and does not support quotes there. */
function plainKey(key: string): string {
  if (/^[\w-]+$/.test(key)) return key;
  throw new RangeError(`codex --config has no spelling for the name ${JSON.stringify(key)}`);
}

export function tomlString(text: string): string {
  return JSON.stringify(text).replaceAll('\u007f', '\\u007f');
}
