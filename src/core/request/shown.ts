import { editFailed, isFailed } from '../../base/failed-result.ts';
import { hashLines, type LineHashes } from '../../engine/text/line-hashes.ts';
import { mayHoldFullMarker, mayHoldShortMarker } from '../../engine/text/marker.ts';
import type { ScannedText } from '../../wires/dialects/dialect.ts';
import type { ShownEntry, ShownText } from '../../wires/goal/shown-lines.ts';
import { askedLines, editedFiles, writtenLines } from '../../wires/transcript/call-targets.ts';
import type { ToolCall } from '../../wires/transcript/tools.ts';
import { textHash } from '../hash.ts';
import type { FoundText, ResultInContext } from './found-text.ts';
import type { Reading } from './results.ts';

/** Minimum size of a text whose lines are remembered, in UTF-16 units. */
const LEAST_CHARS = 1_500;

type NewText = Pick<ShownText, 'hash' | 'literal' | 'json' | 'start' | 'chars'>;

/** A result that is being read. */
interface ShownResult extends Pick<ResultInContext, 'call' | 'facts' | 'tool' | 'recovery'> {
  /** Files that it shows. */
  readonly files: readonly string[];
}

/**
 * Records the lines that a result shows, so that later results are recognised as repeats.
 *
 * @param found - its large texts
 * @returns the same texts, linked to their records
 */
export function noteShown(reading: Reading, result: ShownResult, found: readonly FoundText[]): FoundText[] {
  return found.map((text) => {
    const { job, literal, place, skip } = text;
    const { json, start, chars } = place;
    const isIndexed = skip !== 'recovered' && skip !== 'input_too_large';
    const own = { hash: job.textHash, literal, json, start, chars };
    const lines = isIndexed ? linesOf(job.text) : null;
    const entry = note(reading, result, own, lines);
    return entry === null ? text : { shown: entry, lines, ...text };
  });
}

/** Like `noteShown`, for a result that is too short to be pruned otherwise. */
export function noteShort(reading: Reading, result: ShownResult, { literal }: ScannedText): ShownEntry | null {
  const chars = literal.end - literal.start - 2;
  // only readings of files matter below this size: they show that a cut was in the way
  if (chars < LEAST_CHARS && result.files.length === 0) return null;
  const text = reading.texts.at(literal) ?? '';
  const own = { hash: textHash(text), literal, json: [], start: 0, chars: text.length };
  return note(reading, result, own, text.length >= LEAST_CHARS && !result.recovery ? linesOf(text) : null);
}

/** The lines of a text, unless markers in it stand for some of them. */
function linesOf(text: string): LineHashes | null {
  return mayHoldFullMarker(text) || mayHoldShortMarker(text) ? null : hashLines(text, 0);
}

function note(
  { conversation, messageIndex }: Reading,
  { call, facts, tool, files }: ShownResult,
  place: NewText,
  lines: LineHashes | null,
): ShownEntry | null {
  const { path, command = '' } = facts.hints;
  const paths = files.length > 0 || path === undefined ? files : [path];
  const asked = askedLines(call);
  const { answers } = conversation;
  const about = { ordinal: messageIndex, tool, paths, asked, command, answers };
  return conversation.lines.add({ ...place, ...about }, lines);
}

/** Records the edit that a result reports. */
export function noteEdit(
  { texts, message, conversation }: Reading,
  call: ToolCall | undefined,
  { literal, callId }: ScannedText,
): void {
  const paths = editedFiles(call);
  if (call === undefined || paths.length === 0) return;
  const text = literal.end - literal.start > MAX_ANSWER_BYTES ? '' : (texts.at(literal) ?? '');
  const { start, end } = message.span;
  const messageOf = (): unknown => (end - start > MAX_ANSWER_BYTES ? null : parsedAt(texts.bytes, start, end));
  const failed = editFailed(text) || isFailed(text, callId, messageOf);
  conversation.edited({ paths, seq: conversation.lines.size, failed, lines: failed ? [] : writtenLines(call) });
}

/** Longer answers to edits show files, and are not read. */
const MAX_ANSWER_BYTES = 64 * 1024;

function parsedAt(bytes: Buffer, start: number, end: number): unknown {
  return JSON.parse(bytes.toString('utf8', start, end));
}
