import { parseArgs } from 'node:util';
import { nearest } from '../config/nearest.ts';
import { UserError } from '../errors/errors.ts';
import { extensionCommands } from '../extensions/commands.ts';
import { type Call, type Command, type Io, type LazyCommand, UsageError } from './command.ts';
import { commandHelp, programHelp } from './help.ts';

/** All commands. */
export const commands: Readonly<Record<string, LazyCommand>> = {
  serve: { summary: 'run the proxy', load: async () => (await import('./serve.ts')).serve },
  demo: { summary: 'show pruning offline, without a key', load: async () => (await import('./demo/demo.ts')).demo },
  stdio: {
    summary: 'serve MCP over stdin and stdout (the default command)',
    load: async () => (await import('./stdio.ts')).stdio,
  },
  run: { summary: 'start an agent through the proxy', load: async () => (await import('./run/run.ts')).run },
  setup: {
    summary: "print or write an agent's configuration",
    load: async () => (await import('./setup.ts')).setup,
  },
  service: {
    summary: 'run the proxy in the background: install, status, logs, remove',
    load: async () => (await import('./service/service.ts')).service,
  },
  doctor: {
    summary: 'check that everything is in order, and say what to do',
    load: async () => (await import('./doctor/doctor.ts')).doctor,
  },
  status: {
    summary: 'say in one line whether the proxy runs and what it saved',
    load: async () => (await import('./status.ts')).status,
  },
  config: { summary: 'print the effective configuration', load: async () => (await import('./config.ts')).config },
  recover: {
    summary: 'print the original behind a prune id',
    load: async () => (await import('./recover.ts')).recover,
  },
  recall: {
    summary: 'search earlier tool results',
    load: async () => (await import('./recall.ts')).recall,
  },
  tools: {
    summary: 'show what each declared tool costs and how often it is called',
    load: async () => (await import('./tools.ts')).tools,
  },
  diff: { summary: 'show what was cut from a text', load: async () => (await import('./diff.ts')).diff },
  why: {
    summary: 'say why each region of a text was kept or cut',
    load: async () => (await import('./why.ts')).why,
  },
  tail: { summary: 'follow what the proxy does', load: async () => (await import('./tail.ts')).tail },
  stats: {
    summary: 'show what was saved, by day, model and tool',
    load: async () => (await import('./stats.ts')).stats,
  },
  report: {
    summary: 'show the dollars spent and saved, through the proxy or in past sessions of agents',
    load: async () => (await import('./report/report.ts')).report,
  },
  prices: {
    summary: 'list the prices of models, or show the row for one model',
    load: async () => (await import('./prices.ts')).prices,
  },
  projects: {
    summary: 'show and change the settings that projects have of their own',
    load: async () => (await import('./projects.ts')).projects,
  },
  ...extensionCommands,
  erase: {
    summary: 'erase a project or a person, with a proof',
    load: async () => (await import('./erase.ts')).erase,
  },
  store: { summary: 'move everything into another store', load: async () => (await import('./store.ts')).store },
  eval: {
    summary: "measure the pruner on a repository's own history",
    load: async () => (await import('./eval.ts')).evalCommand,
  },
  replay: {
    summary: 'show what pruning would have saved in recorded conversations',
    load: async () => (await import('./replay.ts')).replay,
  },
};

/**
 * Runs one command line.
 *
 * @param args - what follows the program's name
 * @returns the exit code: 0 done, 1 failed, 2 wrong command line or configuration
 */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const [name, ...rest] = args;
  try {
    if (name === undefined) return await runCommand('stdio', [], io);
    if (name === '--help' || name === '-h') return print(io, programHelp(commands));
    if (name === 'help') return await help(rest, io);
    if (name === '--version' || name === '-v') return print(io, `${io.version}\n`);
    return await runCommand(name, rest, io);
  } catch (error) {
    return explain(error, io);
  }
}

function print(io: Io, text: string): number {
  io.out(text);
  return 0;
}

/** `help` and `help <command>`, as many programs have them. */
async function help([topic]: readonly string[], io: Io): Promise<number> {
  return topic === undefined ? print(io, programHelp(commands)) : await runCommand(topic, ['--help'], io);
}

async function runCommand(name: string, args: readonly string[], io: Io): Promise<number> {
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) throw new UsageError(unknown('command', name, Object.keys(commands), 'mcp-pruner --help'));
  const command = await entry.load();
  const ownArgs = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (ownArgs.includes('--help') || ownArgs.includes('-h'))
    return print(io, commandHelp(command, io, ownArgs.includes('--all')));
  if (ownArgs.includes('--version') || ownArgs.includes('-v')) return print(io, `${io.version}\n`);
  return await command.run(parse(name, command, args), io);
}

function unknown(what: string, name: string, known: readonly string[], help: string): string {
  const meant = nearest(name, known);
  return `unknown ${what} ${JSON.stringify(name)}: ${meant === null ? `see ${help}` : `did you mean ${meant}?`}`;
}

/** Reads options and arguments; whatever does not fit is a UsageError of one line. */
function parse(name: string, command: Command, args: readonly string[]): Call {
  const help = `mcp-pruner ${name} --help`;
  const { options } = command;
  const { tokens } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true, tokens: true });
  const values: Record<string, string | boolean> = {};
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const option = Object.hasOwn(options, token.name) ? options[token.name] : undefined;
    if (option === undefined) {
      throw new UsageError(
        unknown(
          'option',
          token.rawName,
          Object.keys(options).map((known) => `--${known}`),
          help,
        ),
      );
    }
    if (option.type === 'string') {
      if (token.value === undefined || token.value === '')
        throw new UsageError(`${token.rawName} needs a value: see ${help}`);
      values[token.name] = token.value;
    } else {
      if (token.value !== undefined) throw new UsageError(`${token.rawName} takes no value: see ${help}`);
      values[token.name] = true;
    }
  }
  const { min, max } = command.arguments;
  if (positionals.length < min) throw new UsageError(`too few arguments: mcp-pruner ${command.usage}`);
  if (positionals.length > max)
    throw new UsageError(`unexpected argument ${JSON.stringify(positionals[max])}: see ${help}`);
  return { values, positionals };
}

/** Puts a failure on stderr, one line for each problem. */
function explain(error: unknown, io: Io): number {
  const say = (line: string): void => io.err(`mcp-pruner: ${line}\n`);
  if (error instanceof UserError) {
    error.problems.forEach(say);
    return error.exitCode;
  }
  say(`unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}
