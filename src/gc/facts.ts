import type { SeenSegment, SegmentFacts } from '../core/ports/segments.ts';
import { addDeclared, addMentions, callIdKey, callKey, KeySet, pathKey, pathKeys } from './keys.ts';

const MOST_ABOUT = 40;
const MOST_MENTIONS = 64;
const MOST_EDITED = 40;
/** Characters of a text that are scanned. */
const MESSAGE_CHARS = 16_384;
const CODE_CHARS = 65_536;

/**
 * Stored facts of a segment besides its text. References come from words of the user and the assistant and from call
 * arguments, never from the content of results.
 */
export function factsOf(seen: SeenSegment): SegmentFacts {
  const { id, ordinal, role, type, effect, tokens, lines, tool, path, startLine, endLine } = seen;
  const about = new KeySet(MOST_ABOUT);
  if (path !== '') about.add(...pathKeys(path));
  if (seen.callId !== '') about.add(callIdKey(seen.callId));
  if (role === 'tool') addMentions(seen.wanted, about, MESSAGE_CHARS);
  if (effect === 'read' || effect === 'attached') addDeclared(seen.text, about, CODE_CHARS);
  const mentions = new KeySet(MOST_MENTIONS);
  addMentions(role === 'tool' ? seen.wanted : effect === 'attached' ? '' : seen.text, mentions, MESSAGE_CHARS);
  const edited = new KeySet(MOST_EDITED);
  for (const file of seen.edited) {
    edited.add(pathKey(file));
    mentions.add(...pathKeys(file));
  }
  return {
    id,
    ordinal,
    role,
    type,
    effect,
    tokens,
    lines,
    tool,
    path,
    startLine,
    endLine,
    callKey: callKey(seen.callKey),
    about: about.toArray(),
    mentions: mentions.toArray(),
    edited: edited.toArray(),
  };
}
