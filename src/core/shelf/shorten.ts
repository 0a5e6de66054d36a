import { formatMarker } from '../../engine/text/marker.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { textHash } from '../hash.ts';
import type { ShelfCut } from '../ports/shelf.ts';
import { keptId } from '../recall/kept-text.ts';
import type { Declaration, DeclaredTools } from './declarations.ts';

/** A shortened description: the span `literal` is replaced by the JSON string of `text`. */
export interface ShortenedDescription {
  readonly literal: Span;
  /** The part that stays, with the marker as its last line. */
  readonly text: string;
  readonly original: string;
  readonly cut: ShelfCut;
}

/** The reason in the marker; the word is the same in French and English. */
const REASON = 'description';

/**
 * Shortens a shelved tool's descriptions, in body order. Each is cut to its first sentence or, for the tool's own
 * description if the system prompt mentions the tool, to its first paragraph. Empty if the tool must stay whole, if the
 * request forces its use, or if the markers would cost more than they save.
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

/** The remaining part of a description, followed by the marker. */
function shownBy(description: string, cut: Omit<ShelfCut, 'tokensSaved'>): string {
  return `${description.slice(0, cut.chars)}${tailOf(cut)}`;
}

/** Marker text that replaces the removed part. */
export function tailOf({ pruneId, startLine, endLine, reason }: Omit<ShelfCut, 'tokensSaved'>): string {
  return `\n${formatMarker({ pruneId, startLine, endLine, reason })}`;
}

/** Cuts one description; `null` if the marker costs more than it saves. */
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

/** Offset of the first non-whitespace character. */
function startOf(text: string): number {
  return text.length - text.trimStart().length;
}

function endOfSentence(text: string): number {
  const start = startOf(text);
  const stop = text.indexOf('. ', start);
  const line = text.indexOf('\n', start);
  return Math.min(stop < 0 ? text.length : stop + 1, line < 0 ? text.length : line);
}

/** Offset of the line break before the first empty line, or the text's length. */
function endOfParagraph(text: string): number {
  for (let at = text.indexOf('\n', startOf(text)); at >= 0; ) {
    const next = text.indexOf('\n', at + 1);
    if (text.slice(at + 1, next < 0 ? text.length : next).trim() === '') return at;
    at = next;
  }
  return text.length;
}

/** Whether a text contains a name as a whole word. */
function mentions(text: string, name: string): boolean {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    if (!isWord(text.charAt(at - 1)) && !isWord(text.charAt(at + name.length))) return true;
  }
  return false;
}

function isWord(char: string): boolean {
  return /^[\p{L}\p{N}_]$/u.test(char);
}
