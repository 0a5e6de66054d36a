import { formatMarker } from '../../engine/text/marker.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Span } from '../../json/cursor.ts';
import { textHash } from '../hash.ts';
import { keptId } from '../recall/kept.ts';
import type { Declaration, DeclaredTools } from './declarations.ts';

/** A description that becomes shorter: `literal` in the body becomes the JSON string of `text`. */
export interface ShortenedDescription {
  readonly literal: Span;
  /** What stays, with the marker as its last line. */
  readonly text: string;
  readonly original: string;
  /** Under which the original is recovered. */
  readonly pruneId: string;
  /** Estimated, the marker subtracted; above 0. */
  readonly tokensSaved: number;
}

const REASON = 'tool description';

/**
 * The descriptions of a tool that become shorter when it is put on the shelf, in the order of the body: to their first
 * sentence, or to the first paragraph of the tool's own where the system prompt mentions the tool. Empty for a tool that
 * nothing may be taken from, that the request chooses, or where a marker would cost more than it saves.
 */
export function shorten(
  declaration: Declaration,
  { chosen, instructions }: Pick<DeclaredTools, 'chosen' | 'instructions'>,
): readonly ShortenedDescription[] {
  const { name, kind, descriptions } = declaration;
  const bare = name.slice(name.lastIndexOf('__') + (name.includes('__') ? 2 : 0));
  if (kind !== 'plain' || chosen.has(name) || chosen.has(bare)) return [];
  const isMentioned = mentions(instructions, name) || mentions(instructions, bare);
  return descriptions.flatMap(({ literal, text, ofTool }) => {
    const kept = text.slice(0, ofTool && isMentioned ? endOfParagraph(text) : endOfSentence(text));
    const shortened = cut(text, kept);
    return shortened ? [{ literal, ...shortened }] : [];
  });
}

function cut(original: string, kept: string): Omit<ShortenedDescription, 'literal'> | null {
  if (original.length <= kept.length) return null;
  const pruneId = keptId(textHash(original));
  const endLine = lines(original);
  const next = original.charAt(kept.length);
  const startLine = next === '\n' ? Math.min(lines(kept) + 1, endLine) : lines(kept);
  const text = `${kept}\n${formatMarker({ pruneId, startLine, endLine, reason: REASON })}`;
  const tokensSaved = estimateTokens(original) - estimateTokens(text);
  return tokensSaved > 0 ? { text, original, pruneId, tokensSaved } : null;
}

function lines(text: string): number {
  return text.split('\n').length;
}

/** Where the first line that is not empty begins. */
function startOf(text: string): number {
  return text.length - text.trimStart().length;
}

function endOfSentence(text: string): number {
  const start = startOf(text);
  const stop = text.indexOf('. ', start);
  const line = text.indexOf('\n', start);
  return Math.min(stop < 0 ? text.length : stop + 1, line < 0 ? text.length : line);
}

/** Up to the first empty line. */
function endOfParagraph(text: string): number {
  for (let at = text.indexOf('\n', startOf(text)); at >= 0; ) {
    const next = text.indexOf('\n', at + 1);
    if (text.slice(at + 1, next < 0 ? text.length : next).trim() === '') return at;
    at = next;
  }
  return text.length;
}

/** Whether a text has the name as a whole word. */
function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isWord(text.charAt(at - 1)) && !isWord(text.charAt(at + name.length))) return true;
  }
  return false;
}

function isWord(char: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(char);
}
