import type { ScannedMessage } from '../../dialects/dialect.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { decodeString } from '../../json/cursor.ts';
import { textHash } from '../hash.ts';
import type { SentDecision, SentMessage, SentText, TextPlace } from '../ports/sent.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/find-texts.ts';
import { textAt } from './text-place.ts';

/** A text that was cut when it was first sent. */
export interface Replayed {
  readonly text: FoundText;
  readonly decision: Decision;
}

/**
 * The texts of a message that were cut when it was first sent, whatever would be found or decided today.
 *
 * @param found - the texts that are found in it today; they supply the fields that records do not have
 */
export function replay(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  sent: SentMessage,
  found: readonly FoundText[],
): Replayed[] {
  if (message.opaque) return [];
  const { annotateLines, includeMarkers, shortMarkers } = sent;
  const render = { annotateLines, includeMarkers, shortMarkers };
  return sent.texts
    .flatMap((one) => replayOne(bytes, message, messageIndex, one, render, found) ?? [])
    .sort((a, b) => inOrder(a.text, b.text));
}

function replayOne(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  { decision, ...place }: SentText,
  render: RenderOptions,
  found: readonly FoundText[],
): Replayed | null {
  const today = found.find((text) => isAt(text, place));
  if (today && today.job.textHash === decision.textHash) {
    const text = { ...today, skip: '', render, markerIds: [] };
    return { text, decision: { ...decision, goal: today.job.goal } };
  }
  const literal = message.texts[place.text]?.literal;
  const decoded = literal ? decodeString(bytes, literal.start, literal.end) : null;
  const placed = decoded === null ? null : textAt(decoded, place);
  // one prefix means one text; if the text differs nevertheless, it must not be cut
  if (!literal || decoded === null || !placed || textHash(placed.text) !== decision.textHash) return null;
  const job = jobOf(placed.text, decision);
  const text: FoundText = {
    messageIndex,
    literal,
    start: place.json.length === 0 ? place.start : 0,
    entire: placed.text.length === decoded.length,
    place,
    lift: placed.lift,
    job,
    skip: '',
    render,
    markerIds: [],
    around: [],
  };
  return { text, decision: { ...decision, goal: '' } };
}

/** Whether a text is at the same place in its message as a sent text. */
export function isAt({ place }: FoundText, { text, json, start, chars }: TextPlace): boolean {
  return (
    place.text === text && place.start === start && place.chars === chars && place.json.join(' ') === json.join(' ')
  );
}

/** In the order of the conversation. */
export function inOrder(a: FoundText, b: FoundText): number {
  if (a.messageIndex !== b.messageIndex) return a.messageIndex - b.messageIndex;
  if (a.literal.start !== b.literal.start) return a.literal.start - b.literal.start;
  for (let i = 0; i < Math.max(a.place.json.length, b.place.json.length); i++) {
    const by = (a.place.json[i] ?? -1) - (b.place.json[i] ?? -1);
    if (by !== 0) return by;
  }
  return a.place.start - b.place.start;
}

function jobOf(text: string, { textHash: hash, tool }: SentDecision): FoundText['job'] {
  // the decision exists: limits and hints are not used
  return {
    text,
    textHash: hash,
    goal: '',
    hints: { origin: 'unknown' },
    limits: { maxPruneRatio: 0, minKeepLines: 0 },
    tool,
    caller: 'proxy',
  };
}
