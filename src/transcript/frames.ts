import { type Lines, lineAt, splitLines } from '../engine/text/lines.ts';

/** The number of lines at both ends of a text that the client added around the result. */
export interface Frame {
  readonly head: number;
  readonly tail: number;
}

/** Most lines of a header or a footer. */
const HEAD_LINES = 14;
const TAIL_LINES = 24;

/** Lines that clients put in front of a result; each pattern is anchored and linear. */
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
 * Recognises the header and footer lines that agents put around a tool's result. They carry coordinates (path, range,
 * exit code) and always stay.
 */
export function findFrame(lines: Lines): Frame {
  return { head: headOf(lines), tail: tailOf(lines) };
}

/** The frame of a text. Only the first and the last lines are examined, because it may have millions. */
export function frameOf(text: string): Frame {
  let end = 0;
  for (let line = 0; line < HEAD_LINES && end < text.length; line++) end = text.indexOf('\n', end) + 1 || text.length;
  let start = text.length;
  // one line more: whether the text's first line is among the last ones makes a difference
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
    // A reminder is appended as a block: all from its opening tag on is frame.
    if (text.startsWith('<system-reminder>')) first = line;
    else if (text !== '' && first === line + 1 && FOOTER.some((pattern) => pattern.test(text))) first = line;
    else if (text === '' && first === line + 1 && line < lines.count) first = line;
  }
  return lines.count + 1 - first;
}

function shortLine(lines: Lines, line: number): string {
  return lineAt(lines, line).slice(0, 480).trim();
}
