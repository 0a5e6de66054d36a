import { dirname, join } from 'node:path';
import type { Io } from 'mcp-pruner/cli/command.ts';
import { proxyUrl } from 'mcp-pruner/cli/run-proxy.ts';
import { localTokenFile } from 'mcp-pruner/config/local-token.ts';
import { defaultDbPath } from 'mcp-pruner/config/paths.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { settingsFile } from './clients/claude.ts';
import type { ClientPlace, Edit, JsonValue } from './clients/client.ts';
import { asObject, valueAt } from './clients/merge-json.ts';
import { readLooseJson } from './edit-json.ts';
import { findEntry } from './mcp-servers.ts';

interface StatusLineInput {
  readonly settings: Settings;
  readonly io: Io;
  readonly place: ClientPlace;
  readonly appends: boolean;
}

/** An edit of the agent's settings, or `null` and a note if nothing has to be changed. */
export interface ApartSetup {
  readonly edit: Edit | null;
  readonly note: string;
}

const PATH: readonly [string] = ['statusLine'];
/** Seconds after which Claude Code (2.1.97 and later) runs the command again while nothing happens. */
const REFRESH_S = 10;
const DEFAULT_URL = 'http://127.0.0.1:8006';

/** @throws UserError if the installed program cannot be found */
export function statusLineEdit({ settings, io, place, appends }: StatusLineInput): ApartSetup {
  const file = settingsFile(place);
  const command = lineCommand(settings, io);
  const existing = valueAt(readLooseJson(place.readFile(file)) ?? {}, PATH);
  const own = { type: 'command', command, refreshInterval: REFRESH_S } as const;
  const note = `${file} has a status line of its own, which stays: --append puts this one behind it`;
  if (existing === undefined || existing === null) return { edit: editTo(place, own), note };
  const its = commandIn(existing);
  if (its?.includes(command)) return { edit: null, note: `${file}: the status line is set already` };
  if (!appends || its === null) return { edit: null, note };
  return {
    edit: editTo(place, { refreshInterval: REFRESH_S, ...asObject(existing), command: behind(its, command) }),
    note,
  };
}

/** The edit whose backup `--undo` restores. */
export function statusLineUndo(place: ClientPlace): Edit {
  return editTo(place, null);
}

function editTo(place: ClientPlace, value: JsonValue): Edit {
  return { format: 'json', file: settingsFile(place), feature: 'statusline', entries: [{ path: PATH, value }] };
}

function commandIn(value: JsonValue): string | null {
  const { command } = asObject(value);
  return typeof command === 'string' && command.trim() !== '' ? command : null;
}

/** A shell command that passes its stdin to two commands and prints both outputs. */
function behind(first: string, second: string): string {
  const input = `printf '%s' "$input"`;
  return `input=$(cat); printf '%s · %s\\n' "$(${input} | {\n${first}\n})" "$(${input} | ${second})"`;
}

/**
 * Shell command for the installed program, by path, since a package runner might fetch another version.
 *
 * @throws UserError if the program cannot be found
 */
export function lineCommand(settings: Settings, io: Io, ...options: readonly string[]): string {
  const entry = findEntry(io.env, io.cwd);
  if (entry === undefined) throw new UserError('the installed program was not found: run npm run build');
  const url = proxyUrl(settings);
  const isDefaultStore = settings.dbPath === defaultDbPath(io) || settings.dbPath === ':memory:';
  const words = [
    ...[process.execPath, join(dirname(entry), 'cli.js'), 'statusline', ...options],
    ...(url === DEFAULT_URL ? [] : ['--url', url]),
    ...(isDefaultStore ? [] : ['--token-file', localTokenFile(io, settings)]),
  ];
  return words.map((word) => quoted(word, io.platform)).join(' ');
}

function quoted(word: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return `"${word.replaceAll('\\', '/')}"`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
