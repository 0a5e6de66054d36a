import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Finding } from '../app/finding.ts';
import type { Edition } from '../app/part.ts';
import type { Place } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import type { Clock } from '../core/ports.ts';
import { UserError } from '../errors/errors.ts';

/** The optional parts that commands work with. */
export interface CliEdition extends Edition {
  readonly checks: readonly Check[];
  /** `report --sessions`. Absent: the edition does not read the session files of agents. @returns the exit code */
  readonly reportSessions?: (call: Call, io: Io, days: number) => Promise<number>;
}

/** A command's access to the process; passed in, so that tests can run commands without one. */
export interface Io extends Place {
  readonly edition: CliEdition;
  readonly readFile: (path: string) => string;
  readonly fileExists: (path: string) => boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Whether a person reads stdout on a terminal. */
  readonly outIsTerminal: boolean;
  /** Width of that terminal, in characters; absent where stdout is none. */
  readonly columns?: number;
  /** Whether a person reads stderr on a terminal, where a progress bar may be drawn. */
  readonly errIsTerminal?: boolean;
  /** Width of that terminal, in characters; absent where stderr is none. */
  readonly errColumns?: number;
  /** Whether a person types into stdin. */
  readonly inIsTerminal?: boolean;
  readonly clock: Clock;
  readonly version: string;
  /** Signals and last-resort errors, by the names that `process` gives them. */
  readonly events: {
    on(name: string, handler: (detail: unknown) => void): unknown;
    off(name: string, handler: (detail: unknown) => void): unknown;
  };
  /** stdin and stdout, opened on first use, for a command that speaks a protocol over them. */
  readonly streams?: () => { readonly input: Readable; readonly output: Writable };
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
}

/** An option of a command. */
export interface Option {
  readonly type: 'string' | 'boolean';
  /** Placeholder of the value in the help, such as `<file>`. */
  readonly value?: string;
  /** The value may be left out, and is `''` then: an argument that does not match is no value. */
  readonly optional?: RegExp;
  readonly doc: string;
}

export interface Call {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

export interface Command {
  /** The usage line after `mcp-pruner`. */
  readonly usage: string;
  /** The description in the help. */
  readonly about: string;
  readonly options: Readonly<Record<string, Option>>;
  /** If there are too many options, `--help` shows only these, and `--help --all` shows all. */
  readonly commonOptions?: readonly string[];
  /** The number of arguments that it takes, without options. */
  readonly arguments: { readonly min: number; readonly max: number };
  /** @returns the exit code */
  run(call: Call, io: Io): Promise<number>;
}

/** Groups of commands in the help, in its order. */
export const GROUPS = ['daily', 'server', 'team', 'lab'] as const;

/** A command that is loaded when it is called: the help must not wait for a database driver. */
export interface LazyCommand {
  /** Absent: the help does not list it. */
  readonly group?: (typeof GROUPS)[number];
  /** Few need it: only `--help --all` lists it. */
  readonly rare?: true;
  readonly summary: string;
  /** @param edition - for commands whose options depend on it */
  readonly load: (edition: () => Promise<CliEdition>) => Promise<Command>;
}

/** The command line is wrong; one line, exit code 2. */
export class UsageError extends UserError {
  override readonly name = 'UsageError';

  constructor(problem: string) {
    super(problem, undefined, 2);
  }
}

/** The text of a string option, or `undefined`. */
export function textOption(call: Call, name: string): string | undefined {
  const value = call.values[name];
  return typeof value === 'string' ? value : undefined;
}

/** Option of every command that reads the configuration. */
export const configOption: Readonly<Record<'config', Option>> = {
  config: { type: 'string', value: '<file>', doc: 'read this TOML file instead of the default one' },
};

/** A check of the configuration that needs no running proxy. */
type Check = (settings: Settings, io: Io) => Promise<readonly Finding[]>;

type Style = Parameters<typeof styleText>[0];

/** Colours text, or leaves it plain where no person would see colours. */
export type Paint = (style: Style, text: string) => string;

/** Colours for stdout: on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one. */
export function painter({ env, outIsTerminal }: Pick<Io, 'env' | 'outIsTerminal'>): Paint {
  const coloured = outIsTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  // newer Nodes would look at the real stdout once more
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}

/** As `printable`, on one line: a line end from outside could pass for a line of the program's own. */
export function printableLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\u2028\u2029]+/g, '\u2424'));
}

/**
 * Text from outside made harmless for a terminal: control characters are shown rather than obeyed, tabs and line ends
 * stay.
 */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n\r]|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });
}
