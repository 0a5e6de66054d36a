import { join } from 'node:path';
import { parse as parseToml } from 'smol-toml';
import { readLooseJson } from '../edit-json.ts';
import { SERVER_NAME } from '../mcp-servers.ts';
import { toCodexArgs, tomlString } from '../providers.ts';
import {
  type Client,
  type ClientPlace,
  type Edit,
  holdsToken,
  type JsonValue,
  type McpAccess,
  mcpHeaders,
  PROVIDER,
  type TomlTable,
  type TomlTables,
  type Wiring,
} from './client.ts';
import { valueAt } from './merge-json.ts';

/** Upstream of Codex with a ChatGPT login, the only one that accepts its token. */
const CHATGPT_UPSTREAM = 'https://chatgpt.com/backend-api/codex';
/** Variable that passes the server's token, to keep it off the command line. */
const TOKEN_VARIABLE = 'MCP_PRUNER_RUN_TOKEN';
const KEY_HEADER = 'x-mcp-pruner-key';

function folder({ env, homeDir }: ClientPlace): string {
  return env.CODEX_HOME || join(homeDir, '.codex');
}

export const configFile = (place: ClientPlace): string => join(folder(place), 'config.toml');

export const hooksFile = (place: ClientPlace): string => join(folder(place), 'hooks.json');

function mcpTables(mcp: McpAccess | null): TomlTables {
  if (mcp === null) return {};
  const name = `mcp_servers.${SERVER_NAME}`;
  if (mcp.transport === 'http') {
    return { [name]: { url: mcp.url, ...(holdsToken(mcp) && { http_headers: mcpHeaders(mcp) }) } };
  }
  const { command, args = [], env = {} } = mcp.server;
  return { [name]: { command, args }, [`${name}.env`]: env };
}

/** Header with a key, whose value Codex reads from the environment. */
function keyHeader(table: string, { variable }: NonNullable<Wiring['keyed']>): string {
  return `${table}.env_http_headers={ "${KEY_HEADER}" = ${tomlString(variable)} }`;
}

function mcpSettings({ mcp, keyed }: Wiring): string[] {
  if (mcp?.transport !== 'http') return [];
  const key = `mcp_servers.${SERVER_NAME}`;
  if (keyed) {
    const { pathname, search } = new URL(mcp.url);
    const path = pathname.slice(pathname.lastIndexOf('/'));
    return [`${key}.url=${tomlString(keyed.origin + path + search)}`, keyHeader(key, keyed)];
  }
  const token = holdsToken(mcp) ? [`${key}.bearer_token_env_var=${tomlString(TOKEN_VARIABLE)}`] : [];
  return [`${key}.url=${tomlString(mcp.url)}`, ...token];
}

/** Settings as `--config` options, with the variables that they refer to. */
function launchWith(settings: readonly string[], wiring: Wiring) {
  const { mcp } = wiring;
  const servers = mcp?.transport === 'stdio' ? toCodexArgs({ mcpServers: { [SERVER_NAME]: mcp.server } }) : [];
  const all = [...settings, ...mcpSettings(wiring)].flatMap((setting) => ['--config', setting]);
  const env: Record<string, string> =
    mcp?.transport === 'http' && mcp.token !== undefined ? { [TOKEN_VARIABLE]: mcp.token } : {};
  return { args: [...all, ...servers], env, files: [] };
}

/** How the user logged in: `codex login` writes a file, but an API key may be in the environment instead. */
function login(place: ClientPlace): 'chatgpt' | 'key' | 'variable' {
  const auth = readLooseJson(place.readFile(join(folder(place), 'auth.json')));
  if (auth === null) return place.env.OPENAI_API_KEY ? 'variable' : 'key';
  const tokens = valueAt(auth, ['tokens']);
  const withKey = typeof valueAt(auth, ['OPENAI_API_KEY']) === 'string' || valueAt(auth, ['auth_mode']) === 'apikey';
  return tokens !== undefined && tokens !== null && !withKey ? 'chatgpt' : 'key';
}

function responsesProvider(baseUrl: string, place: ClientPlace): TomlTable {
  const key: TomlTable = login(place) === 'variable' ? { env_key: 'OPENAI_API_KEY' } : { requires_openai_auth: true };
  return { name: PROVIDER, base_url: baseUrl, wire_api: 'responses', ...key };
}

/** The user's configuration; empty if unreadable. */
function configOf(place: ClientPlace): JsonValue {
  try {
    return parseToml(place.readFile(configFile(place)) ?? '', { integersAsBigInt: 'asNeeded' }) as JsonValue;
  } catch {
    return {};
  }
}

function ownProvider(place: ClientPlace): { readonly name: string; readonly url: string } | null {
  const config = configOf(place);
  const name = valueAt(config, ['model_provider']);
  if (typeof name !== 'string' || name === PROVIDER || !/^[\w-]+$/.test(name)) return null;
  const url = valueAt(config, ['model_providers', name, 'base_url']);
  return typeof url === 'string' ? { name, url } : null;
}

function upstreamOf(place: ClientPlace): string | null {
  const own = ownProvider(place)?.url ?? valueAt(configOf(place), ['openai_base_url']);
  if (typeof own === 'string') return own;
  return login(place) === 'chatgpt' ? CHATGPT_UPSTREAM : null;
}

/**
 * A user-defined provider keeps its key and headers and gets the proxy's URL. Otherwise a new provider is defined for
 * the run.
 */
function launchSettings(wiring: Wiring, place: ClientPlace): string[] {
  const own = ownProvider(place);
  if (own === null) return providerSettings(responsesProvider(runUrl(wiring), place), wiring);
  const table = `model_providers.${own.name}`;
  const key = wiring.keyed ? [keyHeader(table, wiring.keyed)] : [];
  return [`${table}.base_url=${tomlString(runUrl(wiring))}`, ...key];
}

/** The URL for the command line. Other users can read command lines, so a key is sent in a header instead. */
function runUrl({ baseUrl, keyed }: Wiring): string {
  return keyed ? `${keyed.origin}/v1` : baseUrl;
}

function providerSettings(provider: TomlTable, { keyed }: Wiring): string[] {
  const settings = Object.entries(provider).map(
    ([key, value]) =>
      `model_providers.${PROVIDER}.${key}=${typeof value === 'boolean' ? value : tomlString(String(value))}`,
  );
  const key = keyed ? [keyHeader(`model_providers.${PROVIDER}`, keyed)] : [];
  return [`model_provider=${tomlString(PROVIDER)}`, ...settings, ...key];
}

function configEdit(provider: TomlTable, { mcp }: Wiring, place: ClientPlace): Edit {
  return {
    format: 'toml',
    file: configFile(place),
    secret: holdsToken(mcp),
    top: { model_provider: PROVIDER },
    tables: { [`model_providers.${PROVIDER}`]: provider, ...mcpTables(mcp) },
  };
}

const ANY_CODEX = { command: 'codex', needsModel: false, usesMcp: true, keepsToken: true } as const;

export const codex: Client = {
  ...ANY_CODEX,
  name: 'codex',
  title: 'Codex',
  wire: 'responses',
  launch: (wiring, place) => launchWith(launchSettings(wiring, place), wiring),
  edits: (wiring, place) => [configEdit(responsesProvider(wiring.baseUrl, place), wiring, place)],
  upstream: upstreamOf,
  notes: [
    `With a ChatGPT login the proxy has to forward to ${CHATGPT_UPSTREAM} (MCP_PRUNER_UPSTREAM_URL); mcp-pruner run codex sets this.`,
    `codex resume lists the sessions of one provider: earlier sessions are listed under the old one.`,
  ],
};

function chatProvider(baseUrl: string): TomlTable {
  return { name: PROVIDER, base_url: baseUrl, env_key: 'OPENAI_API_KEY', wire_api: 'chat' };
}

/** Codex versions up to 0.94, which support chat completions. */
export const codexChat: Client = {
  ...ANY_CODEX,
  name: 'codex-chat',
  title: 'Codex up to 0.94, on chat completions',
  wire: 'chat',
  launch: (wiring) => launchWith(providerSettings(chatProvider(runUrl(wiring)), wiring), wiring),
  edits: (wiring, place) => [configEdit(chatProvider(wiring.baseUrl), wiring, place)],
  notes: ['The key is read from OPENAI_API_KEY. From 0.95 on Codex refuses wire_api = "chat": use codex instead.'],
};
