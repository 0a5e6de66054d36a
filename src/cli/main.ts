import { parseArgs } from 'node:util';
import { nearest } from '../config/nearest.ts';
import { UserError } from '../errors/errors.ts';
import { type Call, type CliEdition, type Command, type Io, type LazyCommand, UsageError } from './command.ts';
import { commandHelp, programHelp } from './help.ts';

/** A program: its commands, and their parts, which are loaded with the first command. */
export interface Program {
  readonly commands: Readonly<Record<string, LazyCommand>>;
  /** Short forms of a command with arguments. */
  readonly aliases: Readonly<Record<string, readonly string[]>>;
  readonly edition: () => Promise<CliEdition>;
}

/** Process access without the edition, which `main` adds. */
export type ProcessIo = Omit<Io, 'edition'>;

/**
 * Runs one command line.
 *
 * @param args - arguments after the program name
 * @returns the exit code: 0 done, 1 failed, 2 wrong command line or configuration
 */
export async function main(args: readonly string[], io: ProcessIo, program: Program): Promise<number> {
  const [name, ...rest] = args;
  try {
    // a client that starts the program speaks MCP; a person gets the help
    if (name === undefined && io.inIsTerminal !== true) return await runCommand('stdio', [], io, program);
    if (name === undefined || name === '--help' || name === '-h') return print(io, programHelp(program.commands, io));
    if (name === 'help') return await help(rest, io, program);
    if (name === '--version' || name === '-v') return print(io, `${io.version}\n`);
    return await runCommand(name, rest, io, program);
  } catch (error) {
    return explain(error, io);
  }
}

function print(io: ProcessIo, text: string): number {
  io.out(text);
  return 0;
}

async function help([topic]: readonly string[], io: ProcessIo, program: Program): Promise<number> {
  return topic === undefined
    ? print(io, programHelp(program.commands, io))
    : await runCommand(topic, ['--help'], io, program);
}

async function runCommand(
  typed: string,
  rest: readonly string[],
  io: ProcessIo,
  { commands, aliases, edition }: Program,
): Promise<number> {
  const [name = '', ...first] = (Object.hasOwn(aliases, typed) ? aliases[typed] : undefined) ?? [typed];
  const args = [...first, ...rest];
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) throw new UsageError(unknown('command', name, Object.keys(commands), 'mcp-pruner --help'));
  const command = await entry.load(edition);
  const ownArgs = args.slice(0, args.includes('--') ? args.indexOf('--') : args.length);
  if (ownArgs.includes('--help') || ownArgs.includes('-h'))
    return print(io, commandHelp(command, io, ownArgs.includes('--all')));
  if (ownArgs.includes('--version') || ownArgs.includes('-v')) return print(io, `${io.version}\n`);
  return await command.run(parse(name, command, args), { ...io, edition: await edition() });
}

function unknown(what: string, name: string, known: readonly string[], help: string): string {
  const meant = nearest(name, known);
  return `unknown ${what} ${JSON.stringify(name)}: ${meant === null ? `see ${help}` : `did you mean ${meant}?`}`;
}

/** Parses options and arguments. @throws UsageError with one line if they are invalid */
function parse(name: string, command: Command, args: readonly string[]): Call {
  const help = `mcp-pruner ${name} --help`;
  const { options } = command;
  const { tokens } = parseArgs({
    args: withEmptyValues(args, options),
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
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
      if (token.value === undefined || (token.value === '' && !option.optional))
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

/** Turns `--lines` into `--lines=` if its value is optional and the next argument is not a value. */
function withEmptyValues(args: readonly string[], options: Command['options']): string[] {
  return args.map((arg, i) => {
    const name = arg.startsWith('--') ? arg.slice(2) : '';
    const optional = Object.hasOwn(options, name) ? options[name]?.optional : undefined;
    return optional === undefined || optional.test(args[i + 1] ?? '') ? arg : `${arg}=`;
  });
}

function explain(error: unknown, io: ProcessIo): number {
  const say = (line: string): void => io.err(`mcp-pruner: ${io.asTyped?.(line) ?? line}\n`);
  if (error instanceof UserError) {
    error.problems.forEach(say);
    return error.exitCode;
  }
  say(`unexpected error: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  return 1;
}
