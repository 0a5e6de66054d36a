import type { Readable, Writable } from 'node:stream';
import { styleText } from 'node:util';
import type { Finding } from '../app/finding.ts';
import type { Edition } from '../app/guest.ts';
import type { Loaded } from '../config/load.ts';
import type { Place } from '../config/paths.ts';
import type { Settings } from '../config/settings.ts';
import type { CompactionShown, SeamsReport, ThresholdCost } from '../core/ports/seams-report.ts';
import type { Clock } from '../core/ports.ts';
import { UserError } from '../errors/errors.ts';
import type { StoreHandle } from '../store/handle.ts';

export interface CliEdition extends Edition {
  readonly checks: readonly Check[];
  /** The checks of `doctor`, for its view on the page. */
  readonly examine: (load: () => Loaded, io: Io) => Promise<readonly Finding[]>;
  /** Finished work and compactions for `report`; absent without that part. May reject with `StoreUnavailable`. */
  readonly readSeams?: (
    store: StoreHandle,
    settings: Settings,
    query: { readonly sinceMs: number; readonly nowMs: number; readonly project?: string | undefined },
  ) => Promise<SeamsReport>;
  /** Summaries of a conversation's finished work, for `why`; absent without that part. May reject with `StoreUnavailable`. */
  readonly compactionsOf?: (store: StoreHandle, conversation: string) => Promise<readonly CompactionShown[]>;
  /** What compactions would have changed in an agent's sessions on this machine, if the edition can read them. */
  readonly pastThresholds?: (
    io: Io,
    settings: Settings,
    agent: string,
    sinceMs: number,
  ) => Promise<readonly ThresholdCost[]>;
  /** Implements `report --sessions`, if the edition can read agents' session files. @returns the exit code */
  readonly reportSessions?: (call: Call, io: Io, days: number) => Promise<number>;
}

/** A command's access to the process; passed in, so that tests can run commands without a process. */
export interface Io extends Place {
  readonly edition: CliEdition;
  readonly readFile: (path: string) => string;
  readonly fileExists: (path: string) => boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly outIsTerminal: boolean;
  /** Width of the terminal on stdout, in characters; absent if there is none. */
  readonly columns?: number;
  /** Whether stderr is a terminal, where a progress bar may be drawn. */
  readonly errIsTerminal?: boolean;
  /** Width of the terminal on stderr, in characters; absent if there is none. */
  readonly errColumns?: number;
  readonly inIsTerminal?: boolean;
  readonly clock: Clock;
  readonly version: string;
  /** Replaces commands of the program in a hint by what a shell understands here. */
  readonly asTyped?: (hint: string) => string;
  /** Signals and uncaught errors, under their names in `process`. */
  readonly events: {
    on(name: string, handler: (detail: unknown) => void): unknown;
    off(name: string, handler: (detail: unknown) => void): unknown;
  };
  /** stdin and stdout, opened on first use, for commands that speak a protocol over them. */
  readonly streams?: () => { readonly input: Readable; readonly output: Writable };
  readonly exit: (code: number) => void;
}

export interface Option {
  readonly type: 'string' | 'boolean';
  /** Placeholder of the value in help texts, such as `<file>`. */
  readonly value?: string;
  /** Set if the value is optional (default `''`); the next argument is the value only if it matches. */
  readonly optional?: RegExp;
  readonly doc: string;
}

/** An option without a value. */
export function flag(doc: string): Option {
  return { type: 'boolean', doc };
}

/** An option with a value, shown as `value` in help texts. */
export function valued(value: string, doc: string, optional?: RegExp): Option {
  return { type: 'string', value, doc, ...(optional && { optional }) };
}

export interface Call {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
}

export interface Command {
  /** Usage line, after `mcp-pruner`. */
  readonly usage: string;
  readonly about: string;
  readonly options: Readonly<Record<string, Option>>;
  /** Options shown by `--help` if there are too many; `--help --all` shows all. */
  readonly commonOptions?: readonly string[];
  /** Minimum and maximum number of arguments, without options. */
  readonly arguments: { readonly min: number; readonly max: number };
  /** Words that a shell completes as the first argument. */
  readonly words?: readonly string[];
  run(call: Call, io: Io): Promise<number>;
}

/** Command groups, in the order of the help. */
export const GROUPS = ['daily', 'server', 'team', 'lab'] as const;

/** A command that is loaded when called, so that the help does not wait for a database driver. */
export interface LazyCommand {
  /** If absent, the command is not listed in the help. */
  readonly group?: (typeof GROUPS)[number];
  readonly summary: string;
  /** @param edition - for commands whose options depend on it */
  readonly load: (edition: () => Promise<CliEdition>) => Promise<Command>;
}

/** Wrong command line; one line, exit code 2. */
export class UsageError extends UserError {
  override readonly name = 'UsageError';

  constructor(problem: string) {
    super(problem, undefined, 2);
  }
}

export function textOption(call: Call, name: string): string | undefined {
  const value = call.values[name];
  return typeof value === 'string' ? value : undefined;
}

export const configOption: Readonly<Record<'config', Option>> = {
  config: valued('<file>', 'read this TOML file instead of the default one'),
};

type Check = (settings: Settings, io: Io) => Promise<readonly Finding[]>;

type Style = Parameters<typeof styleText>[0];

/** Colours text, or returns it unchanged if colours are disabled. */
export type Paint = (style: Style, text: string) => string;

/** Colours for stdout: enabled on a terminal, unless `NO_COLOR` is set or the terminal is dumb. */
export function painter({ env, outIsTerminal }: Pick<Io, 'env' | 'outIsTerminal'>): Paint {
  const coloured = outIsTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  // newer Node versions would otherwise check the real stdout again
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}

/** Like `printable`, but on one line, because external line breaks could fake output lines. */
export function printableLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\u2028\u2029]+/g, '\u2424'));
}

/** Makes external text safe for a terminal: control characters are made visible, except tabs and line ends. */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n\r]|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });
}

/** Reads the user's files; `null` if missing. */
export function fileReader({ readFile, fileExists }: Pick<Io, 'readFile' | 'fileExists'>) {
  return (path: string): string | null => (fileExists(path) ? readFile(path) : null);
}
