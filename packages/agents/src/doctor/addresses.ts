import { join } from 'node:path';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import { fileReader, type Io } from 'mcp-pruner/cli/command.ts';
import { proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { clients } from '../clients/all.ts';
import { probe } from './probe.ts';

/** Variables with a model's base URL, as read by agents and libraries. */
const VARIABLES = [
  'OPENAI_BASE_URL',
  'OPENAI_API_BASE',
  'ANTHROPIC_BASE_URL',
  'ANTHROPIC_BEDROCK_BASE_URL',
  'ANTHROPIC_BEDROCK_MANTLE_BASE_URL',
  'ANTHROPIC_FOUNDRY_BASE_URL',
  'ANTHROPIC_VERTEX_BASE_URL',
  'COPILOT_PROVIDER_BASE_URL',
  'GOOGLE_GEMINI_BASE_URL',
];

const SHELL_FILES = [
  '.bashrc',
  '.bash_profile',
  '.profile',
  '.zshrc',
  '.zprofile',
  '.zshenv',
  '.config/fish/config.fish',
];

/** Larger files were not written by hand. */
const MAX_FILE_CHARS = 4 * 1024 * 1024;

interface Address {
  readonly url: string;
  readonly where: string;
}

/**
 * Finds base URLs with a local port on which nothing listens, so that agents cannot reach a model.
 *
 * @param own - text that `setup` wrote into agents' files, which is checked with the agent
 */
export async function checkAddresses(settings: Settings, io: Io, own: string): Promise<Finding[]> {
  const found = [...inEnvironment(io), ...inShellFiles(io), ...inAgentFiles(settings, io, own)];
  const local = found.flatMap(({ url, where }) => {
    const origin = loopbackOrigin(url);
    return origin === null ? [] : [{ origin, where }];
  });
  const origins = [...new Set(local.map(({ origin }) => origin))];
  const alive = new Map(await Promise.all(origins.map(async (one) => [one, (await probe(one)) === null] as const)));
  return local
    .filter(({ origin }) => alive.get(origin) === false)
    .map(({ origin, where }): Finding => {
      const own = origin === proxyUrl(settings);
      const advice = own
        ? 'start the proxy: mcp-pruner serve'
        : 'correct or remove it, or start the program that belongs there';
      return { level: 'failure', what: `${where} leads to ${origin}, where nothing listens`, advice };
    });
}

export function shellValues(io: Io, variable: string): { readonly file: string; readonly value: string }[] {
  const read = fileReader(io);
  // export NAME=value, NAME=value, set -gx NAME value, setenv NAME value
  const line = new RegExp(
    `^[ \\t]{0,64}(?:export |set -[a-zA-Z]{1,4} |setenv )?${variable}[= ]["']?([^\\s"'#;]{1,512})`,
    'gm',
  );
  return SHELL_FILES.flatMap((name) => {
    const file = join(io.homeDir, name);
    const text = (read(file) ?? '').slice(0, MAX_FILE_CHARS);
    return [...text.matchAll(line)].map(([, value = '']) => ({ file, value }));
  });
}

function inEnvironment({ env }: Io): Address[] {
  return VARIABLES.flatMap((name) => (env[name] ? [{ url: env[name], where: name }] : []));
}

function inShellFiles(io: Io): Address[] {
  return VARIABLES.flatMap((name) =>
    shellValues(io, name).map(({ file, value }) => ({ url: value, where: `${name} in ${file}` })),
  );
}

const SETTING =
  /"?(base_?url|openai_base_url|[A-Z_]{0,32}BASE_URL|api_?base)"?\s{0,8}[:=]\s{0,8}"(https?:\/\/[^"\s]{1,512})"/gi;

function inAgentFiles(settings: Settings, io: Io, own: string): Address[] {
  const read = fileReader(io);
  const origin = proxyUrl(settings);
  const place = { env: io.env, homeDir: io.homeDir, readFile: read };
  const wiring = { baseUrl: `${origin}/v1`, origin, mcp: null, model: null };
  const files = new Set(clients.flatMap((client) => client.edits(wiring, place).map(({ file }) => file)));
  return [...files].flatMap((file) => {
    const text = (read(file) ?? '').slice(0, MAX_FILE_CHARS);
    return [...text.matchAll(SETTING)]
      .map(([, key = '', url = '']) => ({ url, where: `${key} in ${file}` }))
      .filter(({ url }) => !own.includes(url));
  });
}

/** Origin of a loopback URL; `null` for all others. */
function loopbackOrigin(url: string): string | null {
  if (!URL.canParse(url)) return null;
  const { hostname, origin } = new URL(url);
  return /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(hostname) ? origin : null;
}
