import { parsed } from '../json/value.ts';
import { callFacts, FILE_KEYS, filesOfCommand, fileVerb, parseArgs, type ToolCall } from './tools.ts';

/** A line range of a file, 1-based and inclusive; 0 for an unspecified bound. */
export interface FileLines {
  readonly startLine: number;
  readonly endLine: number;
}

const EDIT_NAME =
  /(?:^|[^a-z])(?:write|edit|multiedit|replace|patch|create|insert|update|apply|modify|rename|move|delete|remove|append)(?:$|[^a-z])/i;
const START_KEYS = ['start_line', 'startLine', 'line_start', 'start', 'offset', 'from_line'];
const END_KEYS = ['end_line', 'endLine', 'line_end', 'end', 'to_line'];
const PATCHED = /^(?:\*\*\* (?:Add|Update|Delete) File: |\+\+\+ (?:b\/)?)([^\s"\\]{1,500})/gm;
/** Matches files that a shell command writes: `sed -i … file`, `… > file`, `tee file`. */
const WRITTEN = /(?:>>?|\btee(?: -a)?) {0,4}([^\s"'`;|&<>()$]{1,500})/g;
const SED_IN_PLACE = /\bsed\s+(?:-\w\s+)?-i\b([^|;&\n]{0,1000})/g;
const SED_RANGE = /\bsed\s+-n\s+["']?(\d{1,9}),(\d{1,9})p/;
const MAX_FILES = 20;
const MAX_CHARS = 50_000;
const MAX_PATH_CHARS = 1_000;

/** Files changed by a call, as far as name and arguments show; `[]` for read-only calls. */
export function editedFiles(call: ToolCall | undefined): string[] {
  if (!call) return [];
  const args = parseArgs(call.args);
  const command = innerCommand(stringOf(args, ['command', 'cmd', 'script']));
  const verb = fileVerb(args);
  if (verb === 'look') return [];
  const path = verb === 'change' ? stringOf(args, FILE_KEYS) : '';
  // a single word together with a path is the tool's operation, not a shell program
  const isWord = /^\w+$/.test(command) && stringOf(args, FILE_KEYS) !== '';
  const files = path !== '' ? [path] : command === '' || isWord ? editedByTool(call, args) : editedByCommand(command);
  return [...new Set(files)].slice(0, MAX_FILES);
}

function editedByTool({ name, args: text }: ToolCall, args: Readonly<Record<string, unknown>> | null): string[] {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').replaceAll(/[_.-]+/g, ' ');
  if (!EDIT_NAME.test(spaced)) return [];
  const path = stringOf(args, FILE_KEYS);
  return path === '' ? patched(args ? stringOf(args, ['input', 'patch', 'diff']) : text) : [path];
}

function editedByCommand(command: string): string[] {
  const head = command.slice(0, MAX_CHARS);
  const inPlace = [...head.matchAll(SED_IN_PLACE)].map(([, rest = '']) => rest.trim().split(/\s+/).at(-1) ?? '');
  const written = [...head.matchAll(WRITTEN)].map(([, file = '']) => file);
  return [...inPlace, ...written, ...patched(head)].filter((file) => file !== '' && !file.startsWith('/dev/'));
}

function patched(text: string): string[] {
  return [...text.slice(0, MAX_CHARS).matchAll(PATCHED)].map(([, file = '']) => file);
}

const NEW_TEXT = new Set(['new_string', 'newString', 'new_str', 'newText', 'content', 'file_text']);
const MAX_WRITTEN_LINES = 2_000;
const MAX_DEPTH = 4;

/** Lines that a call writes into files, trimmed, without blank ones; `[]` if its arguments do not show them. */
export function writtenLines({ args: text }: ToolCall): string[] {
  const lines: string[] = [];
  const addText = (written: string): void => {
    for (const line of written.split('\n'))
      if (line.trim() !== '' && lines.length < MAX_WRITTEN_LINES) lines.push(line.trim());
  };
  const walk = (key: string, value: unknown, depth: number): void => {
    if (typeof value === 'string') {
      if (NEW_TEXT.has(key)) addText(value);
      else if (value.includes('*** Begin Patch')) addText(addedBy(value));
    } else if (value !== null && typeof value === 'object' && depth < MAX_DEPTH) {
      for (const [name, item] of Object.entries(value)) walk(Array.isArray(value) ? key : name, item, depth + 1);
    }
  };
  const value = text.length > MAX_CHARS ? undefined : parsed(text);
  walk('', value === undefined ? text : value, 0);
  return lines;
}

function addedBy(patch: string): string {
  return patch
    .split('\n')
    .filter((line) => line.startsWith('+'))
    .map((line) => line.slice(1))
    .join('\n');
}

/** Files shown by a call, with any tool or command; `[]` if there are none. */
export function shownFiles(call: ToolCall | undefined): string[] {
  const { origin, path, command } = callFacts(call).hints;
  if (command !== undefined) return [...new Set(filesOfCommand(command))].slice(0, MAX_FILES);
  const shows = origin === 'read' && path !== undefined && editedFiles(call).length === 0;
  return shows ? [path.slice(0, MAX_PATH_CHARS)] : [];
}

/** Tools of a windowed viewer, whose arguments do not state the window's position. */
const WINDOW_NAME = /^(?:open|goto|scroll_up|scroll_down|edit|insert)$/;
const WINDOW_HEADER = /^\[File: ([^\n]{1,500}) \(\d{1,9} lines total\)\]$/m;
const MAX_HEADER_CHARS = 600;

/** Whether a call moves the window of a viewer. */
export function movesWindow({ name }: ToolCall): boolean {
  return WINDOW_NAME.test(name);
}

/** Completes a call that scrolled a viewer without naming a file (`goto 120`) with the file named in its result. */
export function withWindowFile<Call extends ToolCall>(call: Call, result: string): Call {
  if (!movesWindow(call)) return call;
  const [, path] = WINDOW_HEADER.exec(result.slice(0, MAX_HEADER_CHARS)) ?? [];
  const args = path === undefined ? null : parseArgs(call.args);
  return args === null || stringOf(args, FILE_KEYS) !== ''
    ? call
    : { ...call, args: JSON.stringify({ ...args, path }) };
}

/** The line range of a file that a call requests. */
export function askedLines(call: ToolCall | undefined): FileLines {
  const args = call ? parseArgs(call.args) : null;
  const [, from, to] = SED_RANGE.exec(stringOf(args, ['command', 'cmd', 'script']).slice(0, 2_000)) ?? [];
  if (from !== undefined && to !== undefined) return { startLine: Number(from), endLine: Number(to) };
  const range = args?.view_range ?? args?.line_range;
  if (Array.isArray(range)) return { startLine: lineOf(range[0]), endLine: lineOf(range[1]) };
  const startLine = numberOf(args, START_KEYS);
  const limit = numberOf(args, ['limit']);
  const endLine = numberOf(args, END_KEYS) || (limit > 0 ? Math.max(1, startLine) + limit - 1 : 0);
  return { startLine, endLine };
}

/** Commands that print nothing or a heading, and words that open or close a branch. */
const SAYS_LITTLE: ReadonlySet<string> = new Set('cd export set source . echo printf true if fi done'.split(' '));
const OPENS_LOOP = /^\s*(?:for|while|until)\s/;
const BRANCH = /^\s*(?:do|then|else)(?:\s+|$)/;
/** Options that set a limit, by program; `-` stands for a number as an option. */
const LIMITS: Readonly<Record<string, readonly string[]>> = {
  head: ['-', '-n', '--lines'],
  tail: ['-', '-n', '--lines'],
  git: ['-', '-n', '--max-count'],
  grep: ['-m', '--max-count'],
  rg: ['-m', '--max-count'],
  ag: ['-m', '--max-count'],
};
/** Programs that print at most as many lines as they read. */
const FILTERS: ReadonlySet<string> = new Set('cat sed awk cut tr nl sort uniq grep rg column'.split(' '));
/** Maximum limit of each command in a loop, and of the end of a longer output, in lines. Beyond it, the text decides. */
const FEW_LINES = 100;

/**
 * The number of lines or entries to which a call limits its own output (`git log -n 120`, `… | head -50 | cut -c1-80`,
 * `for f in …; do … | head -20; done`), the largest of several commands; 0 if there is no limit, or not for the whole
 * output.
 */
export function askedLimit(call: ToolCall | undefined): number {
  if (!call) return 0;
  const asked = numberOf(parseArgs(call.args), ['head_limit']);
  if (asked > 0) return asked;
  const limits: number[] = [];
  let loopFrom = -1;
  for (const stages of shellParts(innerCommand(commandOf(call)))) {
    const words = stages.map((stage) => stage.replace(BRANCH, '').trim().split(/\s+/));
    const limit = limitOf(words);
    if (OPENS_LOOP.test(stages.at(-1) ?? '')) {
      if (loopFrom < 0) loopFrom = limits.length;
    } else if (LOOP_END.test(stages[0] ?? '')) {
      // `done | head -50` limits the whole loop
      if (limit > 0) limits.splice(Math.max(0, loopFrom), Number.POSITIVE_INFINITY, limit);
      loopFrom = -1;
    } else if (!SAYS_LITTLE.has(words[0]?.[0] ?? '') && words[0]?.[0] !== '') {
      limits.push(loopFrom >= 0 && limit > FEW_LINES ? 0 : limit);
    }
  }
  return limits.includes(0) ? 0 : Math.max(0, ...limits);
}

/** The limit of the last stage that is no filter. */
function limitOf(stages: readonly (readonly string[])[]): number {
  for (let i = stages.length - 1; i >= 0; i--) {
    const words = stages[i] ?? [];
    const limit = limitIn(words);
    if (words[0] === 'tail' && limit > FEW_LINES) return 0;
    if (limit > 0 || !FILTERS.has(words[0] ?? '')) return limit;
  }
  return 0;
}

function limitIn([program = '', ...words]: readonly string[]): number {
  const options = LIMITS[program] ?? [];
  for (const [k, word] of words.entries()) {
    const [, option = '', value] = /^(-{1,2}[A-Za-z-]{0,20}?)[= ]?(\d{1,9})?$/.exec(word) ?? [];
    // `tail -n +20` begins at a line, and is no limit
    if (options.includes(option) && option !== '-') return lineOf(value ?? words[k + 1]?.replace('+', '-'));
    if (option === '-' && options.includes('-')) return lineOf(value);
  }
  return 0;
}

function stringOf(args: Readonly<Record<string, unknown>> | null, keys: readonly string[]): string {
  for (const key of keys) {
    const value = args?.[key];
    if (typeof value === 'string' && value !== '') return value;
    if (Array.isArray(value) && typeof value[0] === 'string')
      return value.filter((part) => typeof part === 'string').join(' ');
  }
  return '';
}

function numberOf(args: Readonly<Record<string, unknown>> | null, keys: readonly string[]): number {
  for (const key of keys) {
    const line = lineOf(args?.[key]);
    if (line > 0) return line;
  }
  return 0;
}

function lineOf(value: unknown): number {
  const line = typeof value === 'string' ? Number(value) : value;
  return typeof line === 'number' && Number.isSafeInteger(line) && line > 0 ? line : 0;
}

/**
 * A shell command, divided into parts (`;`, `&&`, `||`, line ends), and each part into stages (`|`). Parsed as text,
 * never executed.
 */
type ShellParts = readonly (readonly string[])[];

const MAX_COMMAND_CHARS = 2_000;

/** The command that `bash -lc "…"` runs; any other command unchanged. */
export function innerCommand(command: string): string {
  const [, inner] = /^\s*(?:\/bin\/|\/usr\/bin\/)?(?:ba|z)?sh\s+-l?c\s(.*)$/s.exec(command) ?? [];
  return inner?.trimStart().replace(/^(["'])(.*)\1\s*$/s, '$2') ?? command;
}

/** The shell command of a call as written; `''` if there is none. */
export function commandOf(call: ToolCall): string {
  const args = parseArgs(call.args);
  return stringOf(args, ['command', 'cmd', 'script', 'code', 'commands']);
}

/** Splits a command outside quotes; quoted text stays in its stage. */
export function shellParts(command: string): ShellParts {
  const parts: string[][] = [];
  let stages: string[] = [];
  let stage = '';
  let quote = '';
  const endStage = (): void => {
    stages.push(stage);
    stage = '';
  };
  const endPart = (): void => {
    endStage();
    if (stages.some((one) => one.trim() !== '')) parts.push(stages);
    stages = [];
  };
  const text = command.slice(0, MAX_COMMAND_CHARS);
  for (let i = 0; i < text.length; i++) {
    const char = text[i] ?? '';
    const twice = text[i + 1] === char;
    if (quote !== '') {
      if (char === quote) quote = '';
      stage += char;
    } else if (char === '\\') stage += char + (text[++i] ?? '');
    else if (char === "'" || char === '"') {
      quote = char;
      stage += char;
    } else if (char === ';' || char === '\n') endPart();
    else if ((char === '&' || char === '|') && twice) {
      endPart();
      i++;
    } else if (char === '|') endStage();
    else stage += char;
  }
  endPart();
  return parts;
}

const LOOP_HEAD = /^\s*for\s+(\w+)\s+in\s+/;
const LOOP_BODY = /^\s*do(?:\s+|$)/;
const LOOP_END = /^\s*done\b/;

/**
 * Replaces each loop by the commands in its body, with all values substituted for the variable: `for x in a b; do cat
 * "$x"; done` becomes `cat "a b"`.
 */
export function withoutLoops(parts: ShellParts): ShellParts {
  let name = '';
  let values = '';
  return parts.flatMap((stages): readonly string[][] => {
    const [first = '', ...rest] = stages;
    const head = LOOP_HEAD.exec(first);
    if (head) {
      name = head[1] ?? '';
      values = first.slice(head[0].length);
      return [];
    }
    if (LOOP_END.test(first)) {
      name = '';
      return [];
    }
    const body = [first.replace(LOOP_BODY, ''), ...rest];
    if (name === '') return [body];
    const variable = `$${name}`;
    return [body.map((stage) => stage.replaceAll(`\${${name}}`, variable).replaceAll(variable, values))];
  });
}
