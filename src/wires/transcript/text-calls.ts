import type { ToolCall } from './tools.ts';

/** Number of characters at the end of the model's text searched for a call. */
const MAX_SAID_CHARS = 64 * 1024;
const MAX_PARAMETERS = 20;
const FENCE_LINE = /^ {0,3}(`{3,8})([^\n`]{0,80})$/;
const WINDOW_VERBS = new Set(['open', 'goto', 'scroll_up', 'scroll_down', 'edit', 'create', 'insert']);
const SEARCH_VERBS = new Set(['search_file', 'search_dir', 'find_file']);

/**
 * The action that a model wrote as text because its agent has no native calls: a `<mswea_bash_command>` element, else
 * the last fenced block (mini-swe-agent, SWE-agent), else a `<command>` element. `null` if there is none.
 */
export function textAction(said: string): ToolCall | null {
  const text = said.slice(-MAX_SAID_CHARS);
  const command = lastElement(text, 'mswea_bash_command') ?? lastFenced(text) ?? lastElement(text, 'command');
  return command === null || command === '' ? null : actionOf(command);
}

/** Converts a command for SWE-agent's shell to a call: viewer verbs are tools, everything else is a program. */
function actionOf(command: string): ToolCall {
  const [verb = '', ...rest] = command.slice(0, 2_000).split(/\s+/).map(unquoted);
  if (WINDOW_VERBS.has(verb)) return callOf(verb, { path: rest.find((word) => /[./]/.test(word)) ?? '' });
  if (SEARCH_VERBS.has(verb)) return callOf(verb, { query: rest[0] ?? '', path: rest[1] ?? '' });
  if (verb === 'str_replace_editor') return callOf(verb, { command: rest[0] ?? '', path: rest[1] ?? '' });
  return callOf('bash', { command });
}

/** The newest call of a name in OpenHands' `<function=name><parameter=key>value</parameter></function>`. */
export function functionCall(said: string, name: string): ToolCall {
  const text = said.slice(-MAX_SAID_CHARS);
  const opening = `<function=${name}>`;
  const at = text.lastIndexOf(opening);
  const inside = at < 0 ? '' : text.slice(at + opening.length);
  return callOf(name, parameters(inside, '<parameter=', '</parameter>'));
}

/**
 * Parses Cline's and Roo's `<read_file><path>a</path></read_file>`; returns the newest call of that name, or one built
 * from the frame of its result.
 *
 * @param shown - the path, command or pattern in the frame
 */
export function elementCall(said: string, name: string, shown: string): ToolCall {
  const inside = lastElement(said.slice(-MAX_SAID_CHARS), name);
  const found = inside === null ? {} : elements(inside);
  return callOf(name, Object.keys(found).length > 0 ? found : { [keyOfShown(name)]: shown });
}

/** A call in the same form as native calls. */
export function callOf(name: string, args: Readonly<Record<string, string>>): ToolCall {
  const said = Object.entries(args).filter(([, value]) => value !== '');
  return { name, args: JSON.stringify(Object.fromEntries(said)) };
}

function keyOfShown(name: string): string {
  if (name === 'execute_command') return 'command';
  return name === 'search_files' || name === 'codebase_search' ? 'query' : 'path';
}

/** The content of the last closed fenced block or, if none is closed, of the unclosed one. */
function lastFenced(text: string): string | null {
  let open: { readonly fence: string; readonly lines: string[] } | null = null;
  let last: string[] | null = null;
  for (const line of text.split('\n')) {
    const [, fence, info = ''] = FENCE_LINE.exec(line) ?? [];
    if (open === null) {
      if (fence !== undefined) open = { fence, lines: [] };
    } else if (fence === open.fence && info.trim() === '') {
      last = open.lines;
      open = null;
    } else open.lines.push(line);
  }
  const lines = last ?? open?.lines ?? null;
  return lines === null ? null : lines.join('\n').trim();
}

function lastElement(text: string, tag: string): string | null {
  const start = text.lastIndexOf(`<${tag}>`);
  if (start < 0) return null;
  const from = start + tag.length + 2;
  const end = text.indexOf(`</${tag}>`, from);
  return text.slice(from, end < 0 ? text.length : end).trim();
}

function parameters(text: string, opening: string, closing: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (let at = text.indexOf(opening), n = 0; at >= 0 && n < MAX_PARAMETERS; n++) {
    const named = text.indexOf('>', at);
    const end = named < 0 ? -1 : text.indexOf(closing, named);
    if (end < 0) break;
    found[text.slice(at + opening.length, named).slice(0, 80)] ??= text.slice(named + 1, end).trim();
    at = text.indexOf(opening, end);
  }
  return found;
}

/** Leaf elements inside an element: `<args><file><path>a</path></file></args>` yields `path`. */
function elements(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const { 1: tag = '', index } of [...text.matchAll(/<([a-z_]{1,40})>/g)].slice(0, 4 * MAX_PARAMETERS)) {
    const from = index + tag.length + 2;
    const end = text.indexOf(`</${tag}>`, from);
    const value = end < 0 ? '' : text.slice(from, end).trim();
    if (value !== '' && !value.startsWith('<')) found[tag] ??= value;
  }
  return found;
}

function unquoted(word: string): string {
  return word.replaceAll(/["'`]/g, '');
}
