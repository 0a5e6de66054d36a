import { ownWords } from '../../wires/transcript/file-blocks.ts';
import type { SeenSegment } from '../ports/segments.ts';

const MAX_CHARS = 60;
/** An injected part before the user's words may be long; characters beyond this limit are ignored. */
const MAX_READ_CHARS = 20_000;

/** The first words of the user among segments, on one line; `''` if there are only files and injected parts. */
export function openingOf(segments: readonly SeenSegment[]): string {
  for (const { role, effect, text } of segments) {
    if (role !== 'user' || effect !== 'asked') continue;
    const words = ownWords(text.slice(0, MAX_READ_CHARS), []).replace(/\s+/g, ' ').trim();
    if (words !== '') return Array.from(words).slice(0, MAX_CHARS).join('');
  }
  return '';
}
