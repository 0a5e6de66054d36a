import { join } from 'node:path';
import { readLooseJson } from '../edit-json.ts';
import { claudeCloud, type Variables } from './claude-clouds.ts';
import {
  type Client,
  type ClientCloud,
  type ClientPlace,
  type Edit,
  headersJson,
  holdsToken,
  type JsonEntry,
  type JsonValue,
  type McpAccess,
  serverEdits,
  serversText,
  stdioJson,
  type Wiring,
} from './client.ts';
import { valueAt } from './merge-json.ts';

/** `alwaysLoad`: with tool search, Claude Code 2.1.121 and later hides the tools of every other server. */
function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http'
    ? { type: 'http', url: mcp.url, alwaysLoad: true, ...headersJson(mcp) }
    : stdioJson(mcp.server, { type: 'stdio', alwaysLoad: true });
}

/** The file written by `claude mcp add --scope user`. */
function stateFile({ env, homeDir }: ClientPlace): string {
  return env.CLAUDE_CONFIG_DIR ? join(env.CLAUDE_CONFIG_DIR, '.claude.json') : join(homeDir, '.claude.json');
}

export function settingsFile({ env, homeDir }: ClientPlace): string {
  return join(env.CLAUDE_CONFIG_DIR || join(homeDir, '.claude'), 'settings.json');
}

/**
 * With a base URL other than Anthropic's, Claude Code sends the descriptions of all MCP tools with every request,
 * unless tool search is enabled explicitly.
 */
function environment(wiring: Wiring, place: ClientPlace): Record<string, string> {
  const variables = addresses(wiring, place);
  if (Object.keys(variables).length === 0) return variables;
  const attribution: Record<string, string> = wiring.hasLocalModel
    ? { [ATTRIBUTION]: place.env[ATTRIBUTION] || '0' }
    : {};
  return { ...variables, ENABLE_TOOL_SEARCH: place.env.ENABLE_TOOL_SEARCH || 'true', ...attribution };
}

/**
 * Claude Code adds a line to its system prompt that changes with each request, which prevents cache hits with local
 * models; `0` removes the line.
 */
const ATTRIBUTION = 'CLAUDE_CODE_ATTRIBUTION_HEADER';

/**
 * Internal Claude Code switch that treats the base URL as Anthropic's own. Otherwise Claude Code omits the global cache
 * scope, cache diagnostics, and reports about thinking with a changed history.
 */
export const FIRST_PARTY = '_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL';

/** Whether Claude Code treats its base URL as Anthropic's own. */
export function isAsFirstParty(place: ClientPlace): boolean {
  return !['', '0', 'false'].includes(variablesOf(place)(FIRST_PARTY).toLowerCase());
}

/** Variables that point Claude Code to the proxy; none if its requests bypass the proxy. */
function addresses({ origin, cloudBypassesProxy }: Wiring, place: ClientPlace): Record<string, string> {
  const cloud = cloudOf(place);
  if (cloud === null) return { ANTHROPIC_BASE_URL: origin };
  if (cloudBypassesProxy) return {};
  const emptied = cloud.without.filter((name) => variablesOf(place)(name) !== '').map((name) => [name, '']);
  return { [cloud.variable]: origin + cloud.path, ...Object.fromEntries(emptied) };
}

function providerEdit(wiring: Wiring, place: ClientPlace): Edit {
  const variables = Object.entries(addresses(wiring, place));
  const entries = variables.map(([name, value]): JsonEntry => ({ path: ['env', name], value }));
  const search: JsonEntry = { path: ['env', 'ENABLE_TOOL_SEARCH'], value: 'true', ifAbsent: true };
  const attribution: JsonEntry = { path: ['env', ATTRIBUTION], value: '0', ifAbsent: true };
  const firstParty: JsonEntry = { path: ['env', FIRST_PARTY], value: '1' };
  const more = [search, ...(wiring.hasLocalModel ? [attribution] : []), ...(wiring.asFirstParty ? [firstParty] : [])];
  return { format: 'json', file: settingsFile(place), entries: entries.length === 0 ? [] : [...entries, ...more] };
}

/** Looks up variables; settings take precedence over the environment. */
function variablesOf(place: ClientPlace): Variables {
  const settings = readLooseJson(place.readFile(settingsFile(place)));
  return (name) => {
    const written = settings === null ? undefined : valueAt(settings, ['env', name]);
    return typeof written === 'string' ? written.trim() : (place.env[name]?.trim() ?? '');
  };
}

function cloudOf(place: ClientPlace): ClientCloud | null {
  return claudeCloud(variablesOf(place));
}

function upstreamOf(place: ClientPlace): string | null {
  const url = variablesOf(place)('ANTHROPIC_BASE_URL') || place.env.ANTHROPIC_BASE_URL?.trim();
  return url ? `${url.replace(/(?<!\/)\/+$/, '')}/v1` : null;
}

export const claude: Client = {
  name: 'claude',
  title: 'Claude Code',
  command: 'claude',
  wire: 'messages',
  needsModel: false,
  usesMcp: true,
  keepsToken: true,
  launch(wiring, place, folder) {
    const { mcp } = wiring;
    const env = environment(wiring, place);
    const servers = mcp === null ? null : serversText(mcp, serverJson);
    const inFile = holdsToken(mcp) || wiring.keyed !== undefined;
    const settings = JSON.stringify({ env });
    const serversFile = servers !== null && inFile ? [{ name: 'mcp.json', text: servers }] : [];
    const settingsFile = wiring.keyed ? [{ name: 'settings.json', text: settings }] : [];
    return {
      // each option in one word, because a list option would swallow the following prompt
      args: [
        ...(servers === null ? [] : [`--mcp-config=${inFile ? join(folder, 'mcp.json') : servers}`]),
        // the user's settings would take precedence over environment variables
        `--settings=${wiring.keyed ? join(folder, 'settings.json') : settings}`,
      ],
      env,
      files: [...serversFile, ...settingsFile],
    };
  },
  edits: (wiring, place) => [providerEdit(wiring, place), ...serverEdits(stateFile(place), wiring.mcp, serverJson)],
  upstream: upstreamOf,
  cloud: cloudOf,
  notes: [
    'Subscription logins and API keys work unchanged.',
    'Close Claude Code before changing its files: it writes to them itself.',
  ],
};
