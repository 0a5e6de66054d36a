import { formatMarker } from '../../engine/text/marker.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { textHash } from '../hash.ts';
import type { ShelfCut } from '../ports/shelf.ts';
import { keptId } from '../recall/kept-text.ts';
import type { Declaration, DeclaredTools } from './declarations.ts';

/** A description that becomes shorter: `literal` in the body becomes the JSON string of `text`. */
export interface ShortenedDescription {
  readonly literal: Span;
  /** What stays, with the marker as its last line. */
  readonly text: string;
  readonly original: string;
  readonly cut: ShelfCut;
}

/** The reason in the marker: a word in both French and English. */
const REASON = 'description';

/**
 * The descriptions of a tool that become shorter when it is put on the shelf, in the order of the body. Each is cut to
 * its first sentence; if the system prompt mentions the tool, the tool's own description is cut to its first paragraph
 * instead. Returns an empty list if the tool must stay whole, if the request forces its use, or if the marker would
 * cost more than it saves.
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
    const chars = ofTool && isMentioned ? endOfParagraph(text) : endOfSentence(text);
    const cut = cutOf({ tool: name, ofTool, text, chars });
    return cut ? [{ literal, text: shownBy(text, cut), original: text, cut }] : [];
  });
}

/** The part of a description that stays, followed by the marker. */
function shownBy(description: string, cut: Omit<ShelfCut, 'tokensSaved'>): string {
  return `${description.slice(0, cut.chars)}${tailOf(cut)}`;
}

/** The text that replaces what is removed. */
export function tailOf({ pruneId, startLine, endLine, reason }: Omit<ShelfCut, 'tokensSaved'>): string {
  return `\n${formatMarker({ pruneId, startLine, endLine, reason })}`;
}

/** `null` if the marker costs more than it saves. */
function cutOf(of: { readonly tool: string; readonly ofTool: boolean; readonly text: string; readonly chars: number }) {
  const { tool, ofTool, text, chars } = of;
  if (text.length <= chars) return null;
  const hash = textHash(text);
  const endLine = lines(text);
  const shown = lines(text.slice(0, chars));
  const startLine = text.charAt(chars) === '\n' ? Math.min(shown + 1, endLine) : shown;
  const cut = { tool, ofTool, textHash: hash, chars, startLine, endLine, reason: REASON, pruneId: keptId(hash) };
  const tokensSaved = estimateTokens(text) - estimateTokens(shownBy(text, cut));
  return tokensSaved > 0 ? { ...cut, tokensSaved } : null;
}

function lines(text: string): number {
  return text.split('\n').length;
}

/** Offset of the first character that is not white space. */
function startOf(text: string): number {
  return text.length - text.trimStart().length;
}

function endOfSentence(text: string): number {
  const start = startOf(text);
  const stop = text.indexOf('. ', start);
  const line = text.indexOf('\n', start);
  return Math.min(stop < 0 ? text.length : stop + 1, line < 0 ? text.length : line);
}

/** Offset of the line break before the first empty line; the length of the text if there is none. */
function endOfParagraph(text: string): number {
  for (let at = text.indexOf('\n', startOf(text)); at >= 0; ) {
    const next = text.indexOf('\n', at + 1);
    if (text.slice(at + 1, next < 0 ? text.length : next).trim() === '') return at;
    at = next;
  }
  return text.length;
}

/** Whether a text contains the name as a whole word. */
function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isWord(text.charAt(at - 1)) && !isWord(text.charAt(at + name.length))) return true;
  }
  return false;
}

function isWord(char: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(char);
}
