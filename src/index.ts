import { realpathSync } from 'node:fs';
import { argv } from 'node:process';
import { fileURLToPath } from 'node:url';

export {
  type BuildOptions,
  buildMcpServers,
  type McpServerConfig,
  type McpServers,
  type ProviderRunOptions,
} from '@mcp-pruner/agents/mcp-servers.ts';
export { toClaudeOptions, toCodexArgs } from '@mcp-pruner/agents/providers.ts';
export { type RunEvent, RunLifecycle, type RunState } from '@mcp-pruner/agents/run-states.ts';

/** Whether Node was started with this file, as by runners that use `buildMcpServers`. */
function isProgram(): boolean {
  const [, started] = argv;
  try {
    return started !== undefined && realpathSync(started) === fileURLToPath(import.meta.url);
  } catch {
    return false;
  }
}

if (isProgram()) await import('./cli.ts');
