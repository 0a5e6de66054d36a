import { type Lines, lineAt, splitLines } from '../../engine/text/lines.ts';
import { findFileBlocks } from './file-blocks.ts';
import { callOf, elementCall, functionCall, textAction } from './text-calls.ts';
import type { ToolCall } from './tools.ts';

/** A range of a text: `[start, end)`. */
interface Range {
  readonly start: number;
  readonly end: number;
  /** Path of the file named in the frame; absent if only the call names it. */
  readonly path?: string;
}

export interface TextResult {
  /** Ranges inside the frame, which are the tool's output. */
  readonly ranges: readonly Range[];
  /** The answered call, as far as the frame or the model's text shows it; otherwise `null`. */
  readonly call: ToolCall | null;
  readonly words: string;
}

/** Maximum length of the beginning of a frame, in characters. */
const MAX_HEADER_CHARS = 8_000;
/** Elements in which Cline and Roo append the user's words to a result in the same text. */
const VOICES = ['feedback', 'user_message', 'answer', 'task'];
/** Cline and Roo tools with output. Answers of other tools are the user's own words. */
const PRINTING = new Set([
  'read_file',
  'execute_command',
  'search_files',
  'list_files',
  'list_code_definition_names',
  'codebase_search',
  'use_mcp_tool',
  'access_mcp_resource',
  'browser_action',
  'web_fetch',
  'web_search',
  'fetch_instructions',
  'write_to_file',
  'replace_in_file',
  'apply_diff',
  'insert_content',
  'search_and_replace',
  'edit_file',
]);
const SHELL_PROMPT = /\n\(Open file: [^\n]{1,500}\)\n\(Current directory: [^\n]{1,500}\)\nbash-\$ ?$/;
const RETURN_CODE = /^<returncode>-?\d{1,10}<\/returncode>\n/;
const BRACKETED = /^\[(\w{1,60})(?:\]| (?:for|to|in) )/;
const EXECUTED = /^EXECUTION RESULT of \[([^\]\n]{1,200})\]:\n/;
const OBSERVED = /^(?:OBSERVATION:\n|Observation: |The observation from the last command:\n)/;
const RAN = 'I ran this command:\n\n';
const PRINTED = '\n\nAnd got this output:\n\n';

/** Beginnings of all frames, for a quick check. */
const MAY_BEGIN = ['<', '[', 'EXECUTION', 'OBSERVATION', 'Observation', 'The observation', RAN];

/**
 * Recognises tool results that agents without native calls send as a user's message. The frames of mini-swe-agent and
 * SWE-agent, of OpenHands without function calling, of Cline and Roo in XML mode, and of aider are matched exactly, as
 * in their templates. Text that merely looks similar (`Observation: it is slow`) counts as the user's own words.
 *
 * @param said - the model's preceding text, if it made no native tool call; otherwise `''`
 * @param header - the previous text of the message, in which Cline announces this one; otherwise `''`
 * @returns `null` for everything else
 */
export function textResult(text: string, said: string, header = ''): TextResult | null {
  const announced = header === '' ? null : bracketedHeader(header);
  if (announced && announced.end === header.length) return clineResult(text, 0, announced, said);
  const prompt = said !== '' && text.endsWith('bash-$') ? SHELL_PROMPT.exec(text.slice(-1_100)) : null;
  if (!prompt && !MAY_BEGIN.some((word) => text.startsWith(word))) return null;
  return (
    returned(text, said) ??
    executed(text, said) ??
    bracketed(text, said) ??
    ran(text) ??
    observed(text, said, prompt?.[0].length ?? 0)
  );
}

/** Whether a text announces that the message's next text is a result: `[read_file for 'a'] Result:`. */
export function announcesResult(text: string): boolean {
  return bracketedHeader(text)?.end === text.length;
}

/** mini-swe-agent: `<returncode>0</returncode>`, then the output, complete or only its head and tail. */
function returned(text: string, said: string): TextResult | null {
  const from = text.startsWith('<exception>') ? text.indexOf('</exception>\n') + '</exception>\n'.length : 0;
  const [code] = RETURN_CODE.exec(text.slice(from, from + 60)) ?? [];
  if (code === undefined) return null;
  const ranges = framed(text, from + code.length, 'output');
  return ranges === null ? null : { ranges, call: textAction(said), words: '' };
}

/** OpenHands: `EXECUTION RESULT of [execute_bash]:`. */
function executed(text: string, said: string): TextResult | null {
  const [header, name] = EXECUTED.exec(text) ?? [];
  if (header === undefined || name === undefined) return null;
  return { ranges: [{ start: header.length, end: text.length }], call: functionCall(said, name), words: '' };
}

/** Cline and Roo, if the frame and the result are in one text. */
function bracketed(text: string, said: string): TextResult | null {
  const header = bracketedHeader(text);
  if (!header || text.charAt(header.end) !== '\n') return null;
  return clineResult(text, header.end + 1, header, said);
}

interface BracketedHeader {
  readonly name: string;
  readonly shown: string;
  readonly end: number;
}

function bracketedHeader(text: string): BracketedHeader | null {
  const [, name] = BRACKETED.exec(text) ?? [];
  const close = name === undefined ? -1 : text.slice(0, MAX_HEADER_CHARS).indexOf('] Result:');
  if (name === undefined || close < 0 || !PRINTING.has(name)) return null;
  const [, shown = ''] = /^[^']{0,80}'([^']{0,2000})/.exec(text.slice(0, close)) ?? [];
  return { name, shown, end: close + '] Result:'.length };
}

function clineResult(text: string, start: number, { name, shown }: BracketedHeader, said: string): TextResult {
  const end = VOICES.concat('environment_details').reduce((least, tag) => {
    // take the last one, because a shown file may contain such a line itself
    const at = text.lastIndexOf(`<${tag}>`);
    const own = at >= start && (at === start || text.charAt(at - 1) === '\n') && text.includes(`</${tag}>`, at);
    return own ? Math.min(least, at) : least;
  }, text.length);
  const rest = text.slice(end);
  const words = VOICES.map((tag) => {
    const voice = element(rest, tag, 0);
    return voice === null ? '' : rest.slice(voice.start, voice.end);
  }).join('\n');
  const files = findFileBlocks(text.slice(0, end)).filter((file) => !file.pasted && file.start >= start);
  const ranges = files.length > 0 ? files.map((file) => rangeOf(file)) : [{ start, end }];
  return { ranges, call: elementCall(said, name, shown), words: words.trim() };
}

function rangeOf({ start, end, path }: { readonly start: number; readonly end: number; readonly path: string }): Range {
  return path === '' ? { start, end } : { start, end, path };
}

/** aider's `/run`: command and output. */
function ran(text: string): TextResult | null {
  if (!text.startsWith(RAN)) return null;
  const at = text.slice(0, MAX_HEADER_CHARS).indexOf(PRINTED);
  if (at < 0) return null;
  const command = text.slice(RAN.length, at);
  return { ranges: [{ start: at + PRINTED.length, end: text.length }], call: callOf('run', { command }), words: '' };
}

/** SWE-agent: counts as a result only if the model wrote an action before it. */
function observed(text: string, said: string, promptChars: number): TextResult | null {
  const call = textAction(said);
  if (call === null) return null;
  const end = text.length - promptChars;
  const elements = framed(text, 0, 'observation');
  if (elements !== null) return { ranges: elements, call, words: '' };
  const [header] = OBSERVED.exec(text) ?? [];
  if (header === undefined && promptChars === 0) return null;
  return { ranges: [{ start: header?.length ?? 0, end }], call, words: '' };
}

/**
 * The content of `<tag>…</tag>` at an offset, or, if a `<warning>` begins there, the contents of `<tag_head>` and
 * `<tag_tail>`; `null` if this is not the whole rest of the text.
 */
function framed(text: string, from: number, tag: string): Range[] | null {
  if (!text.startsWith('<warning>', from)) {
    const whole = text.startsWith(`<${tag}>`, from) ? element(text, tag, from) : null;
    return whole && isEnd(text, whole, tag) ? [whole] : null;
  }
  const head = element(text, `${tag}_head`, from);
  const tail = head && element(text, `${tag}_tail`, head.end);
  return head && tail && isEnd(text, tail, `${tag}_tail`) ? [head, tail] : null;
}

/**
 * The content of an element at the start of a line or after another tag. The last closing tag counts, because results
 * may contain such tags.
 */
function element(text: string, tag: string, from: number): Range | null {
  const opening = `<${tag}>`;
  const at = text.indexOf(opening, from);
  const end = at < 0 ? -1 : text.lastIndexOf(`</${tag}>`);
  if (at < 0 || end < at || (at > from && !'\n>'.includes(text.charAt(at - 1)))) return null;
  const start = at + opening.length;
  return { start: text.charAt(start) === '\n' ? start + 1 : start, end };
}

function isEnd(text: string, { end }: Range, tag: string): boolean {
  return text.slice(end + tag.length + 3).trim() === '';
}

/** Number of header and footer lines that a client added around a result. */
interface Frame {
  readonly head: number;
  readonly tail: number;
}

/** Maximum number of lines in a header and in a footer. */
const HEAD_LINES = 14;
const TAIL_LINES = 24;

/** Header lines that clients put before a result; each pattern is anchored and linear. */
const HEADER: readonly RegExp[] = [
  /^<(?:path|type|file|content|file_content|document|output|result|stdout|system|returncode|bash_metadata|untrusted_context)\b[^<>]*>/,
  /^Content (?:of|from) \S.*:$/,
  /^Showing lines \d+/,
  /^\[?(?:File|Path|Command|Directory|Chunk ID|Wall time|Exit code|Exit Code|Process exited|Original token count|Total output lines|Stdout|Output|Result|Query)\b[^\n]{0,400}$/,
  /^\[[^\]]{0,200}(?:lines? \d+|truncated|output)[^\]]{0,200}\]$/i,
  /^(?:Here(?:'|’)s|This is) the (?:result|output|content)/,
  /^---+$/,
];

const FOOTER: readonly RegExp[] = [
  /^<\/?(?:path|type|file|content|file_content|document|output|result|stdout|stderr|system|returncode|bash_metadata|untrusted_context)\b/,
  /^\(?(?:End of file|Use 'offset'|File has more lines|Showing lines \d+)/i,
  /^\[?(?:Exit code|Exit Code|Process exited|Signal|Error|Background PIDs|Process Group PGID|Wall time)\b[^\n]{0,200}$/,
  /^\[[^\]]{0,200}(?:lines? \d+|truncated|omitted|exit code)[^\]]{0,200}\]$/i,
  /^<system-reminder>/,
];

/**
 * Recognises header and footer lines that agents put around tool results. They carry metadata (path, range, exit code)
 * and always stay.
 */
export function findFrame(lines: Lines): Frame {
  return { head: headOf(lines), tail: tailOf(lines) };
}

/** The frame of a text. Only the first and last lines are examined, because there may be millions. */
export function frameOf(text: string): Frame {
  let end = 0;
  for (let line = 0; line < HEAD_LINES && end < text.length; line++) end = text.indexOf('\n', end) + 1 || text.length;
  let start = text.length;
  // include more lines than `tailOf` examines, so that it finds the same footer as in the whole text
  for (let line = 0; line <= TAIL_LINES + 1 && start > 0; line++)
    start = start < 2 ? 0 : text.lastIndexOf('\n', start - 2) + 1;
  return { head: headOf(splitLines(text.slice(0, end))), tail: tailOf(splitLines(text.slice(start))) };
}

function headOf(lines: Lines): number {
  let head = 0;
  for (let line = 1; line <= Math.min(HEAD_LINES, lines.count); line++) {
    const text = shortLine(lines, line);
    if (text === '') continue;
    if (!HEADER.some((pattern) => pattern.test(text))) break;
    head = line;
  }
  return head;
}

function tailOf(lines: Lines): number {
  let first = lines.count + 1;
  for (let line = lines.count; line > Math.max(0, lines.count - TAIL_LINES); line--) {
    const text = shortLine(lines, line);
    // A reminder is appended as a block, so everything from its opening tag on belongs to the frame.
    if (text.startsWith('<system-reminder>')) first = line;
    else if (text !== '' && first === line + 1 && FOOTER.some((pattern) => pattern.test(text))) first = line;
    else if (text === '' && first === line + 1 && line < lines.count) first = line;
  }
  return lines.count + 1 - first;
}

function shortLine(lines: Lines, line: number): string {
  return lineAt(lines, line).slice(0, 480).trim();
}
