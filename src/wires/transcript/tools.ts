import type { Hints, Origin } from '../../engine/types.ts';
import { parsed } from '../json/value.ts';
import { innerCommand, shellParts, withoutLoops } from './call-targets.ts';
import { scriptArgs } from './script-args.ts';

export interface ToolCall {
  readonly name: string;
  /** The decoded arguments: usually a JSON object in a string. */
  readonly args: string;
}

/** Facts from a call's arguments, which are model data and never executed. */
export interface CallFacts {
  readonly hints: Hints;
  /** An explicit question (`context_focus_question`), or `''`. */
  readonly question: string;
  /** Patterns, queries, paths and commands, one per line, by descending weight; `''` if there are none. */
  readonly said: string;
}

/** Arguments with the file that a call reads or changes. */
export const FILE_KEYS = [
  'path',
  'file_path',
  'filePath',
  'filepath',
  'absolute_path',
  'file',
  'filename',
  'target_file',
];
const PATH_KEYS = [...FILE_KEYS, 'target'];
const COMMAND_KEYS = ['command', 'cmd', 'script', 'code', 'commands'];
const QUERY_KEYS = [
  'pattern',
  'query',
  'regex',
  'search',
  'symbol',
  'name',
  'description',
  'question',
  'glob',
  'include',
];
const QUESTION_KEYS = ['context_focus_question', 'contextFocusQuestion'];
const MAX_ARGS_CHARS = 200_000;
const MAX_SAID_CHARS = 1_200;

const SHELL_NAME = /(?:^|[^a-z])(?:bash|shell|exec|terminal|run|command|cmd|powershell|execute|stdin)(?:$|[^a-z])/i;
const READ_NAME = /(?:^|[^a-z])(?:read|view|open|cat|get_file|file_read|load)(?:$|[^a-z])/i;
const SEARCH_NAME = /(?:^|[^a-z])(?:grep|search|rg|ripgrep|find_in|codebase|lookup)(?:$|[^a-z])/i;
const LIST_NAME = /(?:^|[^a-z])(?:ls|list|glob|tree|dir|directory)(?:$|[^a-z])/i;

const known = new WeakMap<ToolCall, CallFacts>();
/** A result whose call is unknown may be a file that is about to be edited. */
const UNKNOWN: CallFacts = { hints: { origin: 'read' }, question: '', said: '' };

/** Reads a tool call: the origin of its result, and the patterns, paths and questions in its arguments. */
export function callFacts(call: ToolCall | undefined): CallFacts {
  if (!call) return UNKNOWN;
  const facts = known.get(call) ?? readFacts(call);
  known.set(call, facts);
  return facts;
}

function readFacts(call: ToolCall): CallFacts {
  const args = parseArgs(call.args);
  const verb = fileVerb(args);
  const command = verb === null ? innerCommand(words(args, COMMAND_KEYS)) : '';
  const path = words(args, PATH_KEYS);
  const query = words(args, QUERY_KEYS);
  const question = words(args, QUESTION_KEYS);
  const origin = verb === 'look' ? 'read' : command ? originOfCommand(command) : originOfName(call.name, path !== '');
  const file = command && origin === 'read' ? fileOfCommand(command) : command ? '' : path;
  const hints: Hints = {
    origin,
    path: file || undefined,
    command: command.slice(0, 2_000) || undefined,
    question: question.trim() !== '' || undefined,
  };
  const said = [query, path, command].filter((part) => part !== '').join('\n');
  return { hints, question, said: (said || (args ? '' : call.args)).slice(0, MAX_SAID_CHARS) };
}

const LOOKING = new Set(['view', 'read', 'open', 'show']);
const CHANGING = new Set([
  'create',
  'str_replace',
  'insert',
  'undo_edit',
  'write',
  'edit',
  'replace',
  'append',
  'update',
  'delete',
  'rename',
]);

/**
 * The verb of an editing tool. A known verb as `command` together with a path (`{"command":"view","path":…}`) is not a
 * shell command. `null` for every other call.
 */
export function fileVerb(args: Readonly<Record<string, unknown>> | null): 'look' | 'change' | null {
  const command = args?.command;
  if (typeof command !== 'string' || words(args, PATH_KEYS) === '') return null;
  if (LOOKING.has(command)) return 'look';
  return CHANGING.has(command) ? 'change' : null;
}

/** Parses a call's arguments, or a script of calls, to a flat object; `null` if the text is neither. */
export function parseArgs(text: string): Readonly<Record<string, unknown>> | null {
  if (text.length > MAX_ARGS_CHARS) return null;
  const value = parsed(text);
  if (value === undefined) return scriptArgs(text);
  return value !== null && typeof value === 'object' ? flatten(value) : null;
}

/**
 * Flattens arguments of up to two nested levels, so that `{"files":[{"path":…}]}` and `{"arguments":{"path":…}}` are
 * read too.
 */
function flatten(value: object): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  const add = (object: object, depth: number): void => {
    for (const [key, item] of Object.entries(object).slice(0, 50)) {
      if (!(key in out)) out[key] = item;
      const nested: unknown[] = Array.isArray(item) ? item.slice(0, 20) : [item];
      for (const inner of nested) if (inner !== null && typeof inner === 'object' && depth < 2) add(inner, depth + 1);
    }
  };
  add(value, 0);
  return out;
}

function words(args: Readonly<Record<string, unknown>> | null, keys: readonly string[]): string {
  const found: string[] = [];
  for (const key of keys) {
    const value = args?.[key];
    if (typeof value === 'string' && value !== '') found.push(value);
    else if (Array.isArray(value)) {
      const strings = value.filter((item): item is string => typeof item === 'string');
      if (strings.length > 0) found.push(strings.join(' '));
    }
  }
  return found.join(' ').slice(0, 4_000);
}

function originOfName(name: string, hasPath: boolean): Origin {
  const spaced = name.replaceAll(/([a-z])([A-Z])/g, '$1_$2').replaceAll(/[_.-]+/g, ' ');
  if (SEARCH_NAME.test(spaced)) return 'search';
  if (READ_NAME.test(spaced)) return 'read';
  if (LIST_NAME.test(spaced)) return 'listing';
  if (SHELL_NAME.test(spaced)) return 'command';
  return hasPath ? 'read' : 'unknown';
}

const SEARCH_PROGRAMS = new Set(['grep', 'rg', 'ag', 'ack', 'egrep', 'fgrep', 'ripgrep']);
const LIST_PROGRAMS = new Set(['ls', 'find', 'tree', 'fd', 'dir', 'du', 'git ls-files', 'git ls-tree']);
/** Options with which a search prints only file names. */
const NAMES_ONLY = /\s(?:--files(?:-with-matches)?|-[a-zA-Z]{0,8}l[a-zA-Z]{0,8})(?=\s|$)/;
const READ_PROGRAMS = new Set(['cat', 'head', 'tail', 'sed', 'nl', 'bat', 'less', 'more', 'awk', 'type']);
const WRAPPERS = new Set([
  'sudo',
  'env',
  'time',
  'timeout',
  'nice',
  'command',
  'exec',
  'bash',
  'sh',
  'zsh',
  '-c',
  '-lc',
  '-l',
  '-i',
]);

/** The origin of a shell command's output, determined by the decisive program in the last pipeline. */
function originOfCommand(command: string): Origin {
  const stages = decidingStages(command);
  const [first = ''] = stages;
  if (shownByScript(first) !== '' || shownByGit(first) !== '') return 'read';
  const programs = stages.map(programOf);
  const search = programs.findIndex((program) => SEARCH_PROGRAMS.has(program) || program === 'git grep');
  if (search >= 0) return NAMES_ONLY.test(stages[search] ?? '') ? 'listing' : 'search';
  const [program = ''] = programs;
  if (LIST_PROGRAMS.has(program)) return 'listing';
  if (READ_PROGRAMS.has(program) && programs.every((one) => READ_PROGRAMS.has(one))) {
    return program === 'sed' && /\s-i\b/.test(command) ? 'command' : 'read';
  }
  return 'command';
}

const SAYS_LITTLE = /^\s*(?:cd|export|set|source|echo|printf|true)\b/;

/** The stages of a command's last part that does more than print a heading or set up the shell. */
function decidingStages(command: string): readonly string[] {
  return withoutLoops(shellParts(command)).findLast(([first = '']) => !SAYS_LITTLE.test(first)) ?? [];
}

const GIT_SHOW = /^\s*git\s+(?:-C\s+\S{1,400}\s+|--no-pager\s+)?show\s+["']?[^\s"':]{1,200}:([^\s"':]{1,500})["']?\s*$/;

/** The file that `git show <commit>:<path>` prints, or `''`. */
function shownByGit(stage: string): string {
  return GIT_SHOW.exec(stage)?.[1] ?? '';
}

const SCRIPT = /^\s*(?:python3?|node)\s+-[ce]\s/;
const OPENED = /(?:\bopen|\bPath|\breadFileSync)\(\s{0,4}\\?["']([^"'\\]{1,500})\\?["']/;
/** Signs that a script does more than print the file. */
const WORKS = /\b(?:json|re|csv|yaml|ast|subprocess|len|count|JSON|match)\b|['"][wa]b?['"]/;

/** The file printed by an inline script, or `''`. */
function shownByScript(stage: string): string {
  if (!SCRIPT.test(stage) || WORKS.test(stage) || !/\bprint\(|console\.log\(|stdout\.write\(/.test(stage)) return '';
  return OPENED.exec(stage)?.[1] ?? '';
}

function programOf(stage: string): string {
  const tokens = stage
    .replaceAll(/["'`]/g, ' ')
    .split(/\s+/)
    .filter((token) => token !== '');
  let i = 0;
  while (
    i < tokens.length &&
    (WRAPPERS.has(tokens[i] ?? '') || /^\w+=/.test(tokens[i] ?? '') || /^\d+s?$/.test(tokens[i] ?? ''))
  )
    i++;
  const program = (tokens[i] ?? '').split('/').at(-1) ?? '';
  return program === 'git' ? `git ${tokens[i + 1] ?? ''}` : program;
}

/**
 * The file that a command prints: the one named by a script or `git show`, otherwise the last path-like word of its
 * first stage.
 */
function fileOfCommand(command: string): string {
  const [stage = ''] = decidingStages(command);
  return shownByScript(stage) || shownByGit(stage) || (wordsOf(stage).findLast(isFile) ?? '');
}

function wordsOf(stage: string): string[] {
  return stage
    .split(/\s+/)
    .map((word) => word.replaceAll(/["'`]/g, ''))
    .filter((word) => !/[<>]/.test(word));
}

/**
 * The files printed by the parts of a command (`cat a b && sed -n 1,9p c`), in order, relative to the folder set by
 * `cd`.
 */
export function filesOfCommand(command: string): string[] {
  let folder = '';
  const files: string[] = [];
  for (const stages of withoutLoops(shellParts(command))) {
    const [stage = ''] = stages;
    const words = wordsOf(stage);
    const program = programOf(stage);
    const at = words.findIndex((word) => word === program || word.endsWith(`/${program}`)) + 1;
    if (program === 'cd') folder = within(folder, words[at] ?? '');
    const shown = shownByScript(stage) || shownByGit(stage);
    if (shown !== '') files.push(within(folder, shown));
    if (!READ_PROGRAMS.has(program) || stages.some(writes) || (program === 'sed' && /\s-i\b/.test(stage))) continue;
    files.push(
      ...words
        .slice(at)
        .filter(isFile)
        .map((file) => within(folder, file)),
    );
  }
  return files;
}

/**
 * Whether a stage redirects its input or output. Redirections to `/dev/null` or to another stream (`2>&1`) do not
 * count.
 */
function writes(stage: string): boolean {
  return /[<>]/.test(stage.replaceAll(/\d?>{1,2}\s?(?:\/dev\/null|&\d)/g, ''));
}

function within(folder: string, path: string): string {
  return folder === '' || path.startsWith('/') ? path : `${folder.replace(/\/$/, '')}/${path}`;
}

function isFile(word: string): boolean {
  return /^[^-].*\.[A-Za-z0-9]{1,8}$/.test(word) || /^[^-]*\/[^/]+$/.test(word);
}

const PLAN = /^(?:update_plan|todo_?write|write_?todos|(?:update|manage)_todo_list|exit_?plan_?mode|plan)$/i;

/** Whether a call records a plan made by the model. */
export function isPlan({ name }: ToolCall): boolean {
  return PLAN.test(name);
}

const REPORT =
  /^(?:task|agent|sub_?agent|use_subagents|new_task|spawn_agent|wait_agent|delegate(?:_task)?|(?:task|agent)_?output(?:_?tool)?)$/i;

/** Whether a call's result is the report of another agent. */
export function isReport(call: ToolCall | undefined): boolean {
  return call !== undefined && REPORT.test(call.name);
}

const RECOVER = /(?:^|[^a-z])recover_(?:text|range|batch)$|(?:^|__)recall$/i;

/** Whether a call used a recovery or search tool, by its own name (`mcp__server__recover_text`) or through a bridge. */
export function callsRecovery(call: ToolCall | undefined): boolean {
  if (!call) return false;
  if (RECOVER.test(call.name)) return true;
  const named = [...call.args.slice(0, 4_000).matchAll(/"(?:name|tool|tool_name|toolName)"\s*:\s*"([^"\\]{0,200})"/g)];
  return named.some(([, name]) => name !== undefined && RECOVER.test(name));
}

/** `mcp__pruner` is the namespace of the server's tools in Codex's code mode, which does not list single tools. */
const RECOVERY = [Buffer.from('recover_text'), Buffer.from('mcp__pruner')];

/** Whether a part of a body offers `recover_text` under any prefix, or the MCP server with it. */
export function namesRecovery(
  bytes: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
): boolean {
  const part = bytes.subarray(start, end);
  return RECOVERY.some((name) => part.includes(name));
}

/** Whether a user's text lists `recover_text` among an MCP server's tools, as Claude Code does for deferred tools. */
export function listsRecovery(text: string): boolean {
  return /\bmcp__\w{1,64}__recover_text\b/.test(text);
}
