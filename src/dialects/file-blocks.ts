/** A file inside a user's message: `[start, end)` is its content, without the frame around it. */
export interface FileBlock {
  readonly start: number;
  readonly end: number;
  /** Path from the frame, or `''`. */
  readonly path: string;
  /** The frame with the content: what is not the user's own words. */
  readonly outerStart: number;
  readonly outerEnd: number;
}

/** More files than this in one message are left whole. */
const MAX_BLOCKS = 200;

/** Elements that hold a file as today's agents write them. */
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
/** Elements that agents inject into user messages; nobody's words, hence no goal, and no file either. */
const INJECTED_TAGS = new Set([
  'system-reminder',
  'environment_context',
  'environment_details',
  'environment_info',
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
]);
const PATH_ATTRIBUTE =
  /\b(?:path|name|file|filename|filepath|filePath|src|href)\s*=\s*(?:"([^"<>\n]{1,500})"|'([^'<>\n]{1,500})')/;
const TAG = /^<([A-Za-z][\w-]{0,40})((?:\s[^<>\n]{0,800})?)>/;
const FENCE = /^ {0,3}(`{3,12}|~{3,12})([^\n`]{0,500})/;
const PATH_LIKE = /^[\w@~.()[\]+-]*(?:[/\\][\w@~.()[\]+ -]+)*\.[A-Za-z0-9]{1,10}$/;

/**
 * Finds the files in a user's message: elements (`<file …>`, `<file_content …>`, …), fenced blocks, and the
 * `[file name]: … [file content begin]` and `Content from @…:` frames. One pass, line by line; blocks do not overlap.
 */
export function findFileBlocks(text: string): FileBlock[] {
  const blocks: FileBlock[] = [];
  // Frames that nothing closes any more: looked for once, not again at every opening.
  const unclosed = new Set<string>();
  let path = '';
  let previous = '';
  for (let at = 0; at < text.length && blocks.length < MAX_BLOCKS; ) {
    const eol = endOfLine(text, at);
    const line = text.slice(at, Math.min(eol, at + 1_400));
    const block =
      elementAt(text, at, line, path, unclosed) ??
      fenceAt(text, at, line, previous, unclosed) ??
      namedAt(text, at, line, path, unclosed);
    if (block) {
      blocks.push(block);
      path = '';
      previous = '';
      at = Math.max(block.outerEnd, at + 1);
      if (text.charAt(at) === '\n') at++;
      continue;
    }
    path = pathOfHeader(line) || (line.trim() === '' || line.startsWith('<') ? path : '');
    if (line.trim() !== '') previous = line.trim();
    at = eol + 1;
  }
  return blocks;
}

/** The user's own words: the message without its files and without what agents inject. */
export function ownWords(text: string, blocks: readonly FileBlock[]): string {
  let out = '';
  let at = 0;
  for (const { outerStart, outerEnd } of blocks) {
    out += `${text.slice(at, outerStart)}\n`;
    at = outerEnd;
  }
  return withoutInjected(out + text.slice(at)).trim();
}

function endOfLine(text: string, at: number): number {
  const lf = text.indexOf('\n', at);
  return lf < 0 ? text.length : lf;
}

/** `<file path="x">…</file>` and its like, opening at the start of a line. */
function elementAt(text: string, at: number, line: string, path: string, unclosed: Set<string>): FileBlock | null {
  const indent = line.length - line.trimStart().length;
  const [opening, tag, attributes] = TAG.exec(line.slice(indent)) ?? [];
  if (!opening || !tag || !FILE_TAGS.has(tag.toLowerCase()) || attributes?.endsWith('/')) return null;
  const start = skipLineEnd(text, at + indent + opening.length);
  const close = find(text, `</${tag}>`, start, unclosed);
  if (close < 0) return null;
  // The closing tag may stand behind the last line or on its own.
  const inner = nested(text, start, close, pathOf(attributes) || path);
  const outer = { outerStart: at, outerEnd: close + tag.length + 3 };
  return inner ? { ...inner, ...outer } : { start, end: close, path: pathOf(attributes) || path, ...outer };
}

/** The content element inside a document element (`<document><source>p</source><document_content>…`). */
function nested(
  text: string,
  from: number,
  to: number,
  path: string,
): { start: number; end: number; path: string } | null {
  let known = path;
  for (let at = from, lines = 0; at < to && lines < 6; lines++) {
    const eol = Math.min(endOfLine(text, at), to);
    const line = text.slice(at, Math.min(eol, at + 1_400));
    const [opening, tag] = TAG.exec(line.trimStart()) ?? [];
    if (!opening || !tag) return null;
    const start = at + line.length - line.trimStart().length + opening.length;
    const inside = text.slice(start, to).indexOf(`</${tag}>`);
    if (inside < 0) return null;
    const close = start + inside;
    if (close > eol) return { start: skipLineEnd(text, start), end: close, path: known };
    if (/^(?:path|source|name|filename|file)$/i.test(tag)) known = text.slice(start, close).trim();
    at = eol + 1;
  }
  return null;
}

/** A fenced block; its path may stand in the info string or on the line before (aider). */
function fenceAt(text: string, at: number, line: string, previous: string, unclosed: Set<string>): FileBlock | null {
  const [opening, fence, info] = FENCE.exec(line) ?? [];
  if (!opening || !fence || unclosed.has(fence)) return null;
  const start = endOfLine(text, at) + 1;
  for (let from = start; from < text.length; ) {
    const eol = endOfLine(text, from);
    const candidate = text.slice(from, Math.min(eol, from + 64)).trim();
    if (candidate.startsWith(fence) && candidate.replaceAll(fence.charAt(0), '') === '') {
      return {
        start,
        end: from,
        path: pathOfInfo(info ?? '') || pathOfHeader(previous),
        outerStart: at,
        outerEnd: eol,
      };
    }
    from = eol + 1;
  }
  unclosed.add(fence);
  return null;
}

/** `indexOf` that remembers what is not there any more. */
function find(text: string, needle: string, from: number, unclosed: Set<string>): number {
  if (unclosed.has(needle)) return -1;
  const at = text.indexOf(needle, from);
  if (at < 0) unclosed.add(needle);
  return at;
}

/** `[file name]: x` with `[file content begin]`/`[file content end]`, and `Content from @x:` up to `--- End …`. */
function namedAt(text: string, at: number, line: string, path: string, unclosed: Set<string>): FileBlock | null {
  const trimmed = line.trim();
  if (trimmed === '[file content begin]') {
    const start = endOfLine(text, at) + 1;
    const end = find(text, '[file content end]', start, unclosed);
    return end < 0 ? null : { start, end, path, outerStart: at, outerEnd: end + '[file content end]'.length };
  }
  const from = /^Content (?:from|of) @?(\S{1,500}?):$/.exec(trimmed);
  if (!from) return null;
  const start = endOfLine(text, at) + 1;
  const ends = ['\n--- End of content', '\nContent from @', '\n--- Content']
    .map((needle) => find(text, needle, start - 1, unclosed))
    .filter((index) => index >= 0);
  const end = ends.length > 0 ? Math.min(...ends) + 1 : text.length;
  return end > start ? { start, end, path: from[1] ?? '', outerStart: at, outerEnd: end } : null;
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
    const bare = word.replace(/^(?:path|file|title)[=:]/, '').replace(/(?:#L\d.*|:\d+(?:-\d+)?)$/, '');
    const afterColon = bare.includes(':') ? bare.slice(bare.indexOf(':') + 1) : bare;
    if (PATH_LIKE.test(afterColon)) return afterColon;
  }
  return '';
}

/** A line that names the file that follows. */
function pathOfHeader(line: string): string {
  const bare = line
    .trim()
    .replace(/^\[file name\]:\s*/i, '')
    .replace(/^(?:#{1,6}|\*\*|\/\/|File:|file:|Path:|`)\s*/, '')
    .replace(/^<path>|<\/path>$/g, '')
    .replace(/[`*:]+$/, '');
  return bare.length <= 500 && !/\s{2,}/.test(bare) && PATH_LIKE.test(bare) ? bare : '';
}

/** Takes out elements that agents inject, and whole messages that only set the stage. */
function withoutInjected(text: string): string {
  let out = '';
  let at = 0;
  for (let open = text.indexOf('<', at); open >= 0; open = text.indexOf('<', open + 1)) {
    const [opening, tag] = TAG.exec(text.slice(open, open + 900)) ?? [];
    if (!opening || !tag || !INJECTED_TAGS.has(tag.toLowerCase())) continue;
    const close = text.indexOf(`</${tag}>`, open + opening.length);
    out += text.slice(at, open);
    at = close < 0 ? text.length : close + tag.length + 3;
    open = at - 1;
  }
  const rest = out + text.slice(at);
  return STAGE_SETTING.some((start) => rest.trimStart().startsWith(start)) ? '' : rest;
}

/** How messages begin that a client writes on its own behalf before the user's first words. */
const STAGE_SETTING = [
  '# AGENTS.md instructions',
  'This is the Qwen Code.',
  'This is the Gemini CLI.',
  'Caveat: The messages below were generated by the user',
];
