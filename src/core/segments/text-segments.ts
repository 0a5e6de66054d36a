import type { ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { keyOf, pruneIdOf, segmentIdOf, textHash } from '../hash.ts';
import { type BodyTexts, type FoundText, isTooLong, userTexts } from '../request/found-text.ts';

/** One text of a body that can be pinned, stashed or deleted. */
export interface TextSegment {
  readonly id: string;
  readonly messageIndex: number;
  readonly role: 'user' | 'assistant' | 'tool';
  /** The message text that contains the segment. */
  readonly source: ScannedText;
  /** Index in the message. */
  readonly index: number;
  /** Span of the JSON string that contains the segment, quotes included. */
  readonly literal: Span;
  /** Offset in the decoded string, in UTF-16 units. */
  readonly start: number;
  readonly text: string;
  readonly textHash: string;
  /** Whether the segment is a file in a message; `path` is then the name in its frame. */
  readonly file: boolean;
  readonly path: string;
  /** Where a string inside a call's arguments stands; absent for all other segments. */
  readonly placed?: Pick<FoundText, 'place' | 'lift'>;
}

/**
 * Returns the segments of a message in order. In a text that contains files, only the files are segments, not the words
 * around them. System prompts, calls and unknown messages have no segments.
 *
 * @param found - texts found in the message; they are not decoded again
 */
export function segmentsIn(
  texts: BodyTexts,
  message: ScannedMessage,
  messageIndex: number,
  found: readonly FoundText[],
): TextSegment[] {
  if (message.opaque) return [];
  const users = new Map(userTexts(texts, message).map((user) => [user.literal, user]));
  return message.texts.flatMap((source, index): TextSegment[] => {
    const { literal, use } = source;
    if (use === 'words' || use === 'document') {
      const user = users.get(literal);
      if (!user) return [];
      const { text, files } = user;
      if (files.length === 0) return segment('user', messageIndex, source, index, { text });
      return files.flatMap(({ start, end, path }) =>
        segment('user', messageIndex, source, index, { text: text.slice(start, end) }, { start, path }),
      );
    }
    if ((use !== 'said' && use !== 'result') || isTooLong(literal)) return [];
    const within = found.find((text) => text.literal.start === literal.start);
    const known = within?.entire ? within.job : undefined;
    const text = known?.text ?? texts.at(literal) ?? '';
    const hash = known?.textHash ?? within?.around[0];
    return segment(use === 'said' ? 'assistant' : 'tool', messageIndex, source, index, { text, hash });
  });
}

function segment(
  role: TextSegment['role'],
  messageIndex: number,
  source: ScannedText,
  index: number,
  { text, hash = textHash(text) }: { readonly text: string; readonly hash?: string | undefined },
  file?: { readonly start: number; readonly path: string },
): TextSegment[] {
  if (text === '') return [];
  const { literal, callId, name } = source;
  const path = file?.path ?? '';
  const id = file ? segmentIdOf('file', path, hash) : messageSegmentId(role, callId || name, hash);
  const start = file?.start ?? 0;
  return [{ id, messageIndex, role, source, index, literal, start, text, textHash: hash, file: !!file, path }];
}

/** Whether a found text is part of a segment. */
export function holds({ literal, start, text: { length }, file }: TextSegment, text: FoundText): boolean {
  if (literal.start !== text.literal.start) return false;
  return !file || (text.start >= start && text.start < start + length);
}

/** Id of a text in a message; `callId` is used only for tool results. */
export function messageSegmentId(role: string, callId: string, hash: string): string {
  return segmentIdOf(role, role === 'tool' ? callId : '', hash);
}

/** Key of the decision that stashes a segment, unique per project and segment. */
export function stashKey(project: string, segmentId: string): string {
  return keyOf('stash', project, segmentId);
}

/** The prune id under which a stashed segment can be recovered. */
export function stashId(project: string, segmentId: string): string {
  return pruneIdOf(stashKey(project, segmentId));
}
