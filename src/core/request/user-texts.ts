import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { findFileBlocks, ownWords } from '../../wires/transcript/file-blocks.ts';
import { announcesResult, type TextResult, textResult } from '../../wires/transcript/text-results.ts';
import { type BodyTexts, isTooLong } from './found-text.ts';

/** A text in a user message. */
export interface UserText {
  /** Index among the message's texts. */
  readonly index: number;
  readonly literal: Span;
  readonly text: string;
  /** Files in the text, without the frames around them, in order. */
  readonly files: readonly { readonly start: number; readonly end: number; readonly path: string }[];
  /** The tool result, if the agent sends tool results as user messages. Such a text contains no user words. */
  readonly result: TextResult | null;
  /** The user's own words in the text. */
  readonly words: string;
}

/** Path of the file that a text announces as the next part of the message, or `''`. */
function announcedFile(text: string): string {
  const end = text.slice(-600).trimEnd();
  return end.endsWith(':') ? (/(?:^|\n)Content (?:from|of) @?(\S{1,500}?):$/.exec(end)?.[1] ?? '') : '';
}

/**
 * Splits a user's message into words, files and results.
 *
 * @param said - the model's preceding text, if it made no native tool call
 */
export function userTexts(texts: BodyTexts, message: ScannedMessage, said = ''): UserText[] {
  let announced = '';
  let header = '';
  return message.texts.flatMap(({ literal, use, name }, index): UserText[] => {
    if ((use !== 'words' && use !== 'document') || isTooLong(literal)) return [];
    const text = texts.at(literal);
    if (text === null) return [];
    const own = { index, literal, text, result: null };
    if (use === 'document' || announced !== '') {
      // the previous part announced this part as a file
      const files = [{ start: 0, end: text.length, path: name || announced }];
      announced = '';
      return [{ ...own, files, words: '' }];
    }
    announced = announcedFile(text);
    const blocks = findFileBlocks(text);
    const files = blocks.filter(({ pasted }) => !pasted).map(({ start, end, path }) => ({ start, end, path }));
    const result = textResult(text, said, header);
    header = announcesResult(text) ? text : '';
    if (header !== '') return [{ ...own, files, words: '' }];
    return [{ ...own, files, result, words: result?.words ?? ownWords(text, blocks) }];
  });
}
