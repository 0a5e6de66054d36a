import { mayHoldFullMarker, mayHoldShortMarker } from '../../engine/text/marker.ts';
import type { ScannedCall } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import { parsed } from '../../wires/json/value.ts';
import type { ToolCall } from '../../wires/transcript/tools.ts';
import { tailOf } from './read.ts';
import type { RewrittenRequest } from './rewritten.ts';

/** Tools that write files, by parts of their names. */
const WRITING = /write|edit|replace|patch|create|insert|notebook|save/i;
/** A shell command that writes what it quotes: a heredoc, a redirection, `tee`, an edit in place. */
const COMMAND_WRITES = /<<|>|\btee\b|\b(?:sed|perl)\s+-\w{0,8}i|\bwrite/;
const SHELLS = /bash|shell|exec|command|terminal|run/i;
/** Fields that quote the old text, which the call replaces. */
const OLD = /^(?:old|search|find|target|before)/i;
/** The beginning of all markers. */
const SIGN = '⟦';
const ESCAPED_SIGN = '\\u27e6';
const ESCAPED_SIGN_CAPITALS = '\\u27E6';
const MAX_CALLS = 16;
const MAX_ARGS_BYTES = 512 * 1024;
const MAX_DEPTH = 6;

/**
 * Whether the model's newest answer writes one of our markers into a file. The lines that the marker stands for are then
 * lost on disk, and the call must not be blocked, so that only a warning is left.
 */
export function writesMarker({ received, messages }: Pick<RewrittenRequest, 'received' | 'messages'>): boolean {
  return callsWriteMarker(received, messages[tailOf(messages) - 1]?.calls ?? []);
}

/** The same for the calls of one message of a body. */
export function callsWriteMarker(body: Buffer, calls: readonly ScannedCall[]): boolean {
  return calls.slice(0, MAX_CALLS).some(({ name, args }) => {
    if (args === null || args.end - args.start > MAX_ARGS_BYTES || !mayWrite(name)) return false;
    const raw = body.subarray(args.start, args.end);
    // most calls hold no marker, and are not parsed
    if (!raw.includes(SIGN) && !raw.includes(ESCAPED_SIGN) && !raw.includes(ESCAPED_SIGN_CAPITALS)) return false;
    return writes({ name, args: decodeString(body, args.start, args.end) ?? raw.toString('utf8') });
  });
}

/** The same for a call that was read from an answer. */
export function callWritesMarker(call: ToolCall): boolean {
  return call.args.length <= MAX_ARGS_BYTES && mayWrite(call.name) && writes(call);
}

function mayWrite(name: string): boolean {
  return WRITING.test(name) || SHELLS.test(name);
}

function writes({ name, args }: ToolCall): boolean {
  const isShell = !WRITING.test(name);
  return newTexts(parsed(args) ?? args, MAX_DEPTH).some((one) => {
    const text = added(one);
    return (!isShell || COMMAND_WRITES.test(one)) && (mayHoldFullMarker(text) || mayHoldShortMarker(text));
  });
}

/** All strings of a call's arguments, apart from those that quote the old text. */
function newTexts(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth === 0) return [];
  return Object.entries(value).flatMap(([key, inner]) => (OLD.test(key) ? [] : newTexts(inner, depth - 1)));
}

/** The lines that a patch adds; other texts are unchanged. */
function added(text: string): string {
  if (!/^(?:\*\*\* Begin Patch|@@ |--- )/m.test(text)) return text;
  const lines = text.split('\n').filter((line) => line.startsWith('+'));
  return lines.map((line) => line.slice(1)).join('\n');
}
