import type { Edit } from '../../engine/text/render.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { encodeEdits, longJsonStrings } from '../../wires/json/value.ts';
import { editedFiles } from '../../wires/transcript/call-targets.ts';
import { segmentIdOf, textHash } from '../hash.ts';
import { type BodyTexts, isTooLong } from '../request/found-text.ts';
import type { TextSegment } from './text-segments.ts';

/** Minimum size of a call's arguments, and of the strings in them that may be put aside, in UTF-16 units. */
const LEAST_ARGUMENTS = 2_000;
const LEAST_STRING = 500;

/** A long string in the arguments of a call that changes files. */
interface ArgumentSegment extends TextSegment {
  readonly callId: string;
  readonly tool: string;
  /** Files that the call changes. */
  readonly files: readonly string[];
}

/** The long strings in a message's calls that change files, in order. */
export function argumentsIn(texts: BodyTexts, message: ScannedMessage, messageIndex: number): ArgumentSegment[] {
  if (message.opaque) return [];
  return message.calls.flatMap(({ id: callId, name: tool, args }): ArgumentSegment[] => {
    if (args === null || args.end - args.start < LEAST_ARGUMENTS || isTooLong(args)) return [];
    const whole = texts.at(args) ?? texts.bytes.toString('utf8', args.start, args.end);
    const files = whole.length < LEAST_ARGUMENTS ? [] : editedFiles({ name: tool, args: whole });
    if (files.length === 0) return [];
    return stringsOf(texts, args).map(({ literal, json, lift, text }, index) => {
      const hash = textHash(text);
      const id = segmentIdOf('argument', callId, hash);
      const source = { literal, use: 'other' as const, callId, name: tool };
      const place = { text: index, json, start: 0, chars: text.length };
      const segment = { id, messageIndex, role: 'assistant' as const, source, index, literal, start: 0, text };
      return { ...segment, textHash: hash, file: false, path: '', placed: { place, lift }, callId, tool, files };
    });
  });
}

interface ArgumentString {
  readonly literal: Span;
  readonly json: readonly number[];
  readonly lift: (edits: readonly Edit[]) => Edit[];
  readonly text: string;
}

/** Arguments are a JSON object in a string, an object, or one text such as a patch. */
function stringsOf(texts: BodyTexts, args: Span): ArgumentString[] {
  const unchanged = (edits: readonly Edit[]): Edit[] => [...edits];
  const decoded = texts.at(args);
  if (decoded !== null) {
    const fields = longJsonStrings(decoded, LEAST_STRING);
    if (fields === null) return [{ literal: args, json: [], lift: unchanged, text: decoded }];
    return fields.map(({ start, end, value }) => {
      const raw = decoded.slice(start + 1, end - 1);
      return { literal: args, json: [start], lift: (edits) => encodeEdits(raw, edits, start + 1), text: value };
    });
  }
  const raw = texts.bytes.toString('utf8', args.start, args.end);
  if (raw.includes('\ufffd')) return [];
  return (longJsonStrings(raw, LEAST_STRING) ?? []).map(({ start, end, value }) => {
    const from = args.start + Buffer.byteLength(raw.slice(0, start));
    const literal = { start: from, end: from + Buffer.byteLength(raw.slice(start, end)) };
    return { literal, json: [], lift: unchanged, text: value };
  });
}
