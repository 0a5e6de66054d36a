import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { findFileBlocks, ownWords } from '../../wires/transcript/file-blocks.ts';
import { announcesResult, type TextResult, textResult } from '../../wires/transcript/text-results.ts';
import { type BodyTexts, isTooLong } from './body-texts.ts';

/** A text of a user's message. */
export interface UserText {
  /** Index among the message's texts. */
  readonly index: number;
  readonly literal: Span;
  readonly text: string;
  /** Files in it, without the frames around them, in order. */
  readonly files: readonly { readonly start: number; readonly end: number; readonly path: string }[];
  /** The tool result, if the agent sends tool results as user messages. None of it was written by the user. */
  readonly result: TextResult | null;
  /** The user's own words in it. */
  readonly words: string;
}

/** If a text ends by announcing that the next part of the message is a file, the path of that file; otherwise `''`. */
function announcedFile(text: string): string {
  const end = text.slice(-600).trimEnd();
  return end.endsWith(':') ? (/(?:^|\n)Content (?:from|of) @?(\S{1,500}?):$/.exec(end)?.[1] ?? '') : '';
}

/**
 * Splits a user's message into words, files and results.
 *
 * @param said - what the model said just before, if it called no tool natively
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
      // The previous part announced that this part is a file.
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
