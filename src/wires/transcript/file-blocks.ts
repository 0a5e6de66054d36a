/** A file inside a user message; `[start, end)` is its content without the enclosing frame. */
interface FileBlock {
  readonly start: number;
  readonly end: number;
  /** Path from the frame, or `''`. */
  readonly path: string;
  /** Span of the frame with its content, which is not part of the user's own words. */
  readonly outerStart: number;
  readonly outerEnd: number;
  /** Whether this is pasted text without a file name: not the user's own words, but never changed. */
  readonly pasted: boolean;
}

/** Maximum number of files per message; further ones are left whole. */
const MAX_BLOCKS = 200;
/** Fences without a path up to this length are quotations, which belong to the user's own words. */
const MAX_QUOTED_CHARS = 1_000;
const MAX_LINE_CHARS = 1_400;
const MAX_PATH_CHARS = 500;

/** Elements in which current agents embed files. */
const FILE_TAGS = new Set([
  'file',
  'file_content',
  'file_contents',
  'filecontent',
  'document',
  'document_content',
  'attachment',
  'attached_file',
  'content',
  'source',
]);
/** Single-line elements that describe the file inside an element. */
const PATH_TAGS = new Set(['path', 'source', 'name', 'filename', 'file']);
const ABOUT_TAGS = new Set([...PATH_TAGS, 'type', 'language', 'lines', 'index', 'size', 'total_lines']);
/** Lines around files that do not belong to the user's own words either. */
const WRAPPING = /^(?:<\/?(?:files|documents|attachments)>|--- (?:Content from referenced files|End of content) ---)$/;
/** Elements that agents inject into user messages. They are neither a goal nor a file. */
const INJECTED_TAGS = new Set([
  'system-reminder',
  'environment_context',
  'environment_details',
  'environment_info',
  'session_context',
  'user_info',
  'user_instructions',
  'instructions',
  'current_datetime',
  'context',
  'workspace_info',
  'reminder',
  'reminderinstructions',
  'git_status',
  'tool_output',
  'command-name',
  'command-message',
  'local-command-stdout',
  'user-prompt-submit-hook',
  'session-start-hook',
  'hook_context',
  'hook_prompt',
  'task-notification',
  'turn_aborted',
]);
const PATH_ATTRIBUTE =
  /\b(?:path|name|file|filename|filepath|filePath|src|href)\s*=\s*(?:"([^"<>\n]{1,500})"|'([^'<>\n]{1,500})')/;
const TAG = /^<([A-Za-z][\w-]{0,40})((?:\s[^<>\n]{0,800})?)>/;
const FENCE = /^ {0,3}(`{3,12}|~{3,12})([^\n`]{0,500})/;
const PATH_LIKE = /^[\w@~.()[\]+-]*(?:[/\\][\w@~.()[\]+ -]+)*\.[A-Za-z0-9]{1,10}$/;

/** Every frame contains one of these, for a quick check. */
const MAY_OPEN = ['<', '`', '~', '[file content begin]', 'Content from ', 'Content of '];

/**
 * Finds the files in a user's message: elements (`<file …>`, `<file_content …>`, …), fenced blocks, and the
 * `[file name]: … [file content begin]` and `Content from @…:` frames. One pass, line by line; blocks do not overlap.
 */
export function findFileBlocks(text: string): FileBlock[] {
  const blocks: FileBlock[] = [];
  if (!MAY_OPEN.some((part) => text.includes(part))) return blocks;
  // Closing tags and fences known not to occur any more, so that each is searched only once.
  const unclosed = new Set<string>();
  let header = NO_HEADER;
  for (let at = 0; at < text.length && blocks.length < MAX_BLOCKS; ) {
    const eol = endOfLine(text, at);
    const line = text.slice(at, Math.min(eol, at + MAX_LINE_CHARS));
    const block =
      elementAt(text, at, line, header, unclosed) ??
      fenceAt(text, at, line, header, unclosed) ??
      namedAt(text, at, line, header, unclosed);
    if (block) {
      if (!block.pasted || block.end - block.start > MAX_QUOTED_CHARS) blocks.push(block);
      header = NO_HEADER;
      at = Math.max(block.outerEnd, at + 1);
      if (text.charAt(at) === '\n') at++;
      continue;
    }
    const path = pathOfHeader(line);
    if (path) header = { path, at };
    else if (line.trim() !== '' && !line.startsWith('<')) header = NO_HEADER;
    at = eol + 1;
  }
  return blocks;
}

/** A line that names the following file, and its offset. */
interface Header {
  readonly path: string;
  readonly at: number;
}

const NO_HEADER: Header = { path: '', at: Number.POSITIVE_INFINITY };

/** The user's own words: the message without files and text injected by agents. */
export function ownWords(text: string, blocks: readonly FileBlock[]): string {
  let out = '';
  let at = 0;
  for (const { outerStart, outerEnd } of blocks) {
    out += `${text.slice(at, outerStart)}\n`;
    at = outerEnd;
  }
  const words = withoutInjected(out + text.slice(at));
  if (blocks.length === 0) return words.trim();
  return words
    .split('\n')
    .filter((line) => line.length > 60 || !WRAPPING.test(line.trim()))
    .join('\n')
    .trim();
}

function endOfLine(text: string, at: number): number {
  const lf = text.indexOf('\n', at);
  return lf < 0 ? text.length : lf;
}

/** Parses `<file path="x">…</file>` and similar elements that open at the start of a line. */
function elementAt(text: string, at: number, line: string, header: Header, unclosed: Set<string>): FileBlock | null {
  const indent = line.length - line.trimStart().length;
  const [opening, tag, attributes] = TAG.exec(line.slice(indent)) ?? [];
  if (!opening || !tag || !FILE_TAGS.has(tag.toLowerCase()) || attributes?.endsWith('/')) return null;
  const start = skipLineEnd(text, at + indent + opening.length);
  const close = find(text, `</${tag}>`, start, unclosed);
  if (close < 0) return null;
  const path = pathOf(attributes) || header.path;
  const inside = nested(text, start, close, path) ?? { start, end: close, path };
  // files have several lines; a one-line `<content>x</content>` is part of the user's words
  if (!text.slice(inside.start, inside.end).includes('\n')) return null;
  return { ...inside, outerStart: Math.min(at, header.at), outerEnd: close + tag.length + 3, pasted: false };
}

/** Parses the content element in a document element (`<document><source>p</source><document_content>…`). */
function nested(
  text: string,
  from: number,
  to: number,
  path: string,
): { start: number; end: number; path: string } | null {
  let known = path;
  for (let at = from, lines = 0; at < to && lines < 6; lines++) {
    const eol = Math.min(endOfLine(text, at), to);
    const line = text.slice(at, Math.min(eol, at + MAX_LINE_CHARS));
    const [opening, tag] = TAG.exec(line.trimStart()) ?? [];
    const name = tag?.toLowerCase() ?? '';
    if (!opening || !(FILE_TAGS.has(name) || ABOUT_TAGS.has(name))) return null;
    const start = at + line.length - line.trimStart().length + opening.length;
    const inside = text.slice(start, to).indexOf(`</${tag}>`);
    if (inside < 0) return null;
    const close = start + inside;
    if (close > eol) return FILE_TAGS.has(name) ? { start: skipLineEnd(text, start), end: close, path: known } : null;
    if (!ABOUT_TAGS.has(name)) return null;
    if (PATH_TAGS.has(name)) known = text.slice(start, close).trim().slice(0, MAX_PATH_CHARS);
    at = eol + 1;
  }
  return null;
}

/** Parses a fenced block, whose path may be in the info string or on the preceding line (aider). */
function fenceAt(text: string, at: number, line: string, header: Header, unclosed: Set<string>): FileBlock | null {
  const [opening, fence, info] = FENCE.exec(line) ?? [];
  if (!opening || !fence || unclosed.has(fence)) return null;
  const start = endOfLine(text, at) + 1;
  for (let from = start; from < text.length; ) {
    const eol = endOfLine(text, from);
    const candidate = text.slice(from, Math.min(eol, from + 64)).trim();
    if (candidate.startsWith(fence) && candidate.replaceAll(fence.charAt(0), '') === '') {
      const path = pathOfInfo(info ?? '') || header.path;
      return { start, end: from, path, outerStart: Math.min(at, header.at), outerEnd: eol, pasted: path === '' };
    }
    from = eol + 1;
  }
  unclosed.add(fence);
  return null;
}

/** `indexOf` that remembers which needles no longer occur. */
function find(text: string, needle: string, from: number, unclosed: Set<string>): number {
  if (unclosed.has(needle)) return -1;
  const at = text.indexOf(needle, from);
  if (at < 0) unclosed.add(needle);
  return at;
}

/** `[file name]: x` with `[file content begin]`/`[file content end]`, and `Content from @x:` up to `--- End …`. */
function namedAt(text: string, at: number, line: string, header: Header, unclosed: Set<string>): FileBlock | null {
  const trimmed = line.trim();
  if (trimmed === '[file content begin]') {
    const start = endOfLine(text, at) + 1;
    const end = find(text, '[file content end]', start, unclosed);
    if (end < 0) return null;
    const outerEnd = end + '[file content end]'.length;
    return { start, end, path: header.path, outerStart: Math.min(at, header.at), outerEnd, pasted: false };
  }
  const from = /^Content (?:from|of) @?(\S{1,500}?):$/.exec(trimmed);
  if (!from) return null;
  const start = endOfLine(text, at) + 1;
  const ends = ['\n--- End of content', '\nContent from @', '\n--- Content']
    .map((needle) => find(text, needle, start - 1, unclosed))
    .filter((index) => index >= 0);
  const end = ends.length > 0 ? Math.min(...ends) + 1 : text.length;
  return end > start ? { start, end, path: from[1] ?? '', outerStart: at, outerEnd: end, pasted: false } : null;
}

function skipLineEnd(text: string, at: number): number {
  if (text.charAt(at) === '\r' && text.charAt(at + 1) === '\n') return at + 2;
  return text.charAt(at) === '\n' ? at + 1 : at;
}

function pathOf(attributes: string | undefined): string {
  const match = PATH_ATTRIBUTE.exec(attributes ?? '');
  return match?.[1] ?? match?.[2] ?? '';
}

function pathOfInfo(info: string): string {
  const attribute = pathOf(info);
  if (attribute) return attribute;
  for (const word of info.trim().split(/\s+/).slice(0, 4)) {
    const bare = word.replace(/^(?:path|file|title)[=:]|^\d+:\d+:/, '').replace(/(?:#L\d.*|:\d+(?:-\d+)?)$/, '');
    const afterColon = bare.includes(':') ? bare.slice(bare.indexOf(':') + 1) : bare;
    if (PATH_LIKE.test(afterColon)) return afterColon;
  }
  return '';
}

/** The path in a line that names the following file. */
function pathOfHeader(line: string): string {
  const trimmed = line.trim();
  if (trimmed === '' || trimmed.length > MAX_PATH_CHARS) return '';
  const bare = trimmed
    .replace(/^\[file name\]:\s*/i, '')
    .replace(/^(?:#{1,6}|\*\*|\/\/|File:|file:|Path:|`)\s*/, '')
    .replace(/^<path>|<\/path>$/g, '')
    .replace(/(?<![`*:])[`*:]+$/, '');
  return !/\s{2,}/.test(bare) && PATH_LIKE.test(bare) ? bare : '';
}

/** Removes elements injected by agents, and whole messages that clients write themselves. */
function withoutInjected(text: string): string {
  let out = '';
  let at = 0;
  const unclosed = new Set<string>();
  for (let open = text.indexOf('<', at); open >= 0; open = text.indexOf('<', open + 1)) {
    const [opening, tag] = TAG.exec(text.slice(open, open + 900)) ?? [];
    if (!opening || !tag || !INJECTED_TAGS.has(tag.toLowerCase())) continue;
    const close = find(text, `</${tag}>`, open + opening.length, unclosed);
    // an unclosed tag in the middle of a line is part of the user's words (a question about `<Context>`)
    if (close < 0 && open > 0 && text.charAt(open - 1) !== '\n') continue;
    out += text.slice(at, open);
    at = close < 0 ? text.length : close + tag.length + 3;
    open = at - 1;
  }
  const rest = out + text.slice(at);
  const beginning = rest.trimStart();
  return STAGE_SETTING.some((start) => beginning.startsWith(start)) ? '' : rest;
}

/** Beginnings of messages that a client itself writes: before the user's first message, or for a hook. */
const STAGE_SETTING = [
  'Stop hook feedback:',
  '# AGENTS.md instructions',
  'This is the Qwen Code.',
  'This is the Gemini CLI.',
  'Caveat: The messages below were generated by the user',
  // aider, before the files that it includes
  'I have *added these files to the chat*',
  'Here are some READ ONLY files',
  'I am working with you on code in a git repository',
];
