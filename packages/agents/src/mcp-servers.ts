import { accessSync, constants, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isHttpUrl } from 'mcp-pruner/base/http-url.ts';

export interface McpServerConfig {
  readonly command: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** MCP servers by displayed name. */
export type McpServers = Readonly<Record<string, McpServerConfig>>;

/** MCP options of a runner for an agent's provider. */
export interface ProviderRunOptions {
  /** Absent if no server is to be started. */
  readonly mcpServers?: McpServers;
}

export interface BuildOptions {
  /** Called with one line about why the pruner is not used in this run. */
  readonly onDiagnostic?: (line: string) => void;
  readonly isReadableFile?: (path: string) => boolean;
  /** Fallback paths of the server's entry point if `JEEVES_MCP_PRUNER_PATH` is not set, best first. */
  readonly candidates?: readonly string[];
}

type Env = Readonly<Record<string, string | undefined>>;

export const SERVER_NAME = 'pruner';
const DEFAULT_PRUNER_URL = 'http://localhost:8000/prune';
const TRUE_WORDS: ReadonlySet<string> = new Set(['1', 'true', 'yes', 'on']);

/**
 * The MCP servers of a run, from the runner's environment: `JEEVES_PRUNER_ENABLED`, `JEEVES_PRUNER_URL` and
 * `JEEVES_MCP_PRUNER_PATH` (docs/contract.md §8). Invalid values never make a run fail.
 *
 * @param cwd - absolute working directory of the run and its commands
 * @returns `undefined` if the pruner is disabled or its configuration is unusable
 */
export function buildMcpServers(env: Env, cwd: string, options: BuildOptions = {}): McpServers | undefined {
  const { onDiagnostic = () => {} } = options;
  const disabled = (why: string): undefined => {
    onDiagnostic(`MCP pruner disabled: ${why}`);
    return undefined;
  };
  if (!isTrue(env.JEEVES_PRUNER_ENABLED)) return disabled('JEEVES_PRUNER_ENABLED is not on');
  const { JEEVES_PRUNER_URL: url = DEFAULT_PRUNER_URL } = env;
  if (url !== '' && !isHttpUrl(url)) return disabled('JEEVES_PRUNER_URL is not an absolute http(s) URL');
  const entry = findEntry(env, cwd, options);
  if (entry === undefined) {
    return disabled(
      env.JEEVES_MCP_PRUNER_PATH
        ? 'JEEVES_MCP_PRUNER_PATH is not a file that can be read'
        : 'its entry point was not found; JEEVES_MCP_PRUNER_PATH can name it',
    );
  }
  return { [SERVER_NAME]: { command: 'node', args: [entry], env: { PRUNER_URL: url, MCP_PRUNER_CWD: cwd } } };
}

/** Whether an environment switch is on: `1`, `true`, `yes` or `on`, in any case. */
export function isTrue(text: string | undefined): boolean {
  return TRUE_WORDS.has(text?.trim().toLowerCase() ?? '');
}

/** The entry point given by the environment, or else the first existing candidate. */
export function findEntry(env: Env, cwd: string, options: BuildOptions = {}): string | undefined {
  const { isReadableFile = readableFile, candidates } = options;
  const named = env.JEEVES_MCP_PRUNER_PATH;
  const paths = named ? [resolve(cwd, named)] : (candidates ?? entryCandidates());
  return paths.find(isReadableFile);
}

/** The installed package, then the build next to this file, then the build of the source tree. */
function entryCandidates(): string[] {
  const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
  const beside = [here('../index.js'), here('../../../dist/index.js')];
  try {
    return [createRequire(import.meta.url).resolve('mcp-pruner/dist/index.js'), ...beside];
  } catch {
    return beside; // not installed as a package
  }
}

function readableFile(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
