import { clients, findClient } from '../agents/clients/all.ts';
import type { Client, Edit, McpAccess, Wiring } from '../agents/clients/client.ts';
import { type EditOutcome, undoEdit, writeEdit } from '../agents/edit-file.ts';
import { EditRefused, snippet } from '../agents/edit-text.ts';
import { findEntry } from '../agents/mcp-servers.ts';
import type { Loaded } from '../config/load.ts';
import { type Call, type Command, CommandFailed, configOption, type Io, textOption, UsageError } from './command.ts';
import { fileReader } from './file-reader.ts';
import { readSettings } from './read-settings.ts';
import { proxyUrl } from './run-proxy.ts';
import { serverEnv } from './server-env.ts';

const names = clients.map(({ name }) => name);

export const setup: Command = {
  usage: `setup <${names.join('|')}> [--write|--undo]`,
  about: [
    "Prints what an agent's configuration needs: the proxy's address where it speaks chat completions, and the MCP server.",
    'With --write it goes into the files of the agent; each file as it was is kept beside it, and --undo puts it back.',
    'Any other program: export OPENAI_BASE_URL=http://127.0.0.1:8006/v1',
  ].join('\n'),
  options: {
    ...configOption,
    write: { type: 'boolean', doc: 'change the files' },
    undo: { type: 'boolean', doc: 'take the change back' },
    model: { type: 'string', value: '<name>', doc: 'the model, for agents that must be told (default: OPENAI_MODEL)' },
    mcp: {
      type: 'string',
      value: '<way>',
      doc: 'http: the server at the running proxy; stdio: a process that the agent starts; none',
    },
  },
  arguments: { least: 1, most: 1 },

  async run(call, io) {
    const [name = ''] = call.positionals;
    const client = findClient(name);
    if (client === undefined) throw new UsageError(`${JSON.stringify(name)} is not one of ${names.join(', ')}`);
    const undo = call.values.undo === true;
    if (undo && call.values.write === true) throw new UsageError('--write and --undo exclude each other');
    const wiring = wiringOf(call, io, readSettings(call, io), client, undo);
    const place = { env: io.env, homeDir: io.homeDir, readFile: fileReader(io) };
    const edits = client.edits(wiring, place).filter((edit) => !isEmpty(edit));

    if (undo) report(edits.toReversed().map(attempt(undoEdit)), io);
    else if (call.values.write === true) report(edits.map(attempt(writeEdit)), io);
    else for (const edit of edits) io.out(`# in ${edit.file}\n${snippet(edit)}\n\n`);
    if (!undo) {
      for (const line of variables(client, wiring)) io.out(`${line}\n`);
      for (const note of client.notes) io.out(`# ${note}\n`);
    }
    return 0;
  },
};

/** How a client is to be connected, from the settings of the proxy that runs on this machine. */
function wiringOf(call: Call, io: Io, loaded: Loaded, client: Client, undo: boolean): Wiring {
  const model = textOption(call, 'model') ?? (io.env.OPENAI_MODEL || null);
  if (client.needsModel && model === null && !undo) {
    throw new UsageError(`${client.name} must be told a model: add --model <name>, or set OPENAI_MODEL`);
  }
  return { baseUrl: `${proxyUrl(loaded.settings)}/v1`, mcp: mcpAccess(call, io, loaded, client), model };
}

function mcpAccess(call: Call, io: Io, loaded: Loaded, { proxied, usesMcp }: Client): McpAccess | null {
  const { settings } = loaded;
  // a file is no place for the token that /rpc may ask for
  const usual = proxied && settings.authToken === null ? 'http' : 'stdio';
  const way = textOption(call, 'mcp') ?? usual;
  if (!['http', 'stdio', 'none'].includes(way)) throw new UsageError(`--mcp is http, stdio or none, not ${way}`);
  if (way === 'none' || !usesMcp) return null;
  if (way === 'http') return { transport: 'http', url: `${proxyUrl(settings)}/rpc` };
  const entry = findEntry(io.env, io.cwd);
  if (entry === undefined) throw new CommandFailed('the entry point of the MCP server was not found');
  return {
    transport: 'stdio',
    server: {
      command: process.execPath,
      args: [entry, 'stdio', '--tools', proxied ? 'pruner' : 'all'],
      env: { PRUNER_URL: `${proxyUrl(settings)}/prune`, ...serverEnv(loaded, io) },
    },
  };
}

function isEmpty(edit: Edit): boolean {
  return edit.format === 'json' ? edit.entries.length === 0 : snippet(edit) === '';
}

/** What the agent's environment must say where no file can. */
function variables(client: Client, { baseUrl, model }: Wiring): string[] {
  if (client.name !== 'copilot') return [];
  return [
    `export COPILOT_PROVIDER_BASE_URL=${baseUrl}`,
    `export COPILOT_MODEL=${model ?? ''}`,
    'export COPILOT_PROVIDER_API_KEY="$OPENAI_API_KEY"',
  ];
}

function attempt(work: (edit: Edit) => EditOutcome): (edit: Edit) => EditOutcome {
  return (edit) => {
    try {
      return work(edit);
    } catch (cause) {
      if (cause instanceof EditRefused) throw new CommandFailed(cause.message, { cause });
      const why = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
      throw new CommandFailed(`${edit.file} cannot be changed: ${why}`, { cause });
    }
  };
}

function report(outcomes: readonly EditOutcome[], io: Io): void {
  for (const { file, outcome, backup } of outcomes) {
    io.out(`${file}: ${outcome}${backup === undefined ? '' : ` (as it was: ${backup})`}\n`);
  }
}
