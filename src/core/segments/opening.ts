import { ownWords } from '../../wires/transcript/file-blocks.ts';
import type { SeenSegment } from '../ports/segments.ts';

const MAX_CHARS = 60;
/** Characters beyond this limit are ignored; injected parts before the user's words may be long. */
const MAX_READ_CHARS = 20_000;

/** The user's first words among segments, on one line; `''` if there are only files and injected parts. */
export function openingOf(segments: readonly SeenSegment[]): string {
  for (const { role, effect, text } of segments) {
    if (role !== 'user' || effect !== 'asked') continue;
    const words = ownWords(text.slice(0, MAX_READ_CHARS), []).replace(/\s+/g, ' ').trim();
    if (words !== '') return Array.from(words).slice(0, MAX_CHARS).join('');
  }
  return '';
}
