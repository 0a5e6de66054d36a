import type { Edit } from '../../engine/text/render.ts';
import type { Hints } from '../../engine/types.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { callsRecovery, isPlan, listsRecovery, namesRecovery, type ToolCall } from '../../wires/transcript/tools.ts';
import { markedIn } from '../decide/own-markers.ts';
import { textHash } from '../hash.ts';
import { shift } from '../sent/text-place.ts';
import {
  type BodyTexts,
  type FoundText,
  isTooLong,
  jobOf,
  recoveryHint,
  type UserText,
  userTexts,
} from './found-text.ts';
import { byCall, type Reading, readResult, readTextResult } from './results.ts';
import { noteUserWords } from './user-signs.ts';
import { callsWriteMarker } from './written-markers.ts';

/** Maximum size of call arguments to read. Longer ones (whole files being written) do not describe a goal. */
const MAX_ARGS_BYTES = 64 * 1024;
/**
 * Reads one message: updates the conversation and finds the message's large texts. Must be called for all messages in
 * order.
 */
export function findTexts(reading: Reading): FoundText[] {
  const { texts, message, conversation } = reading;
  // deferred tools and Codex's tools are listed in messages with role `other`
  if (message.role === 'other' && namesRecovery(texts.bytes, message.span)) conversation.offerRecovery();
  if (message.role !== 'user' && message.role !== 'tool' && holdsSummary(reading)) conversation.lines.summarised();
  const found = byCall(message.texts).flatMap((parts) => readResult(reading, parts));
  if (message.role === 'tool') conversation.toolAnswered();
  if (message.role === 'user') found.push(...readUser(reading));
  else if (message.role === 'assistant') readAssistant(reading);
  return found.sort((a, b) => a.literal.start - b.literal.start);
}

/** Types of blocks and items in which a provider replaces everything before them. */
const SUMMARIES = [Buffer.from('"type":"compaction'), Buffer.from('"type": "compaction')];

function holdsSummary({ texts: { bytes }, message: { span } }: Reading): boolean {
  const raw = bytes.subarray(span.start, span.end);
  return SUMMARIES.some((type) => raw.includes(type));
}

function readAssistant({ texts, message, messageIndex, conversation }: Reading): void {
  const parts = message.texts.filter(({ use, literal }) => use === 'said' && !isTooLong(literal));
  const said = parts.map(({ literal }) => texts.at(literal) ?? '').join('\n');
  const calls = message.calls.map(({ id, name, args }) => ({ id, call: { name, args: argsText(texts, args) } }));
  foldAnswer(conversation, said, calls);
  if (callsWriteMarker(texts.bytes, message.calls)) conversation.wroteMarker(messageIndex);
}

/** Adds a model message, or one item of its answer, to a conversation. */
export function foldAnswer(
  conversation: Conversation,
  said: string,
  calls: readonly { readonly id: string; readonly call: ToolCall }[],
): void {
  if (calls.some(({ call }) => callsRecovery(call))) conversation.offerRecovery();
  for (const { call } of calls) if (isPlan(call)) conversation.planned(call.args);
  conversation.assistantSaid(said, calls);
}

function argsText(texts: BodyTexts, args: Span | null): string {
  if (!args || args.end - args.start > MAX_ARGS_BYTES) return '';
  // some clients send arguments as an object instead of a JSON string
  return texts.at(args) ?? texts.bytes.toString('utf8', args.start, args.end);
}

function readUser(reading: Reading): FoundText[] {
  const { message, conversation } = reading;
  const texts = userTexts(reading.texts, message, conversation.spoken);
  const results = texts.flatMap((text) => readTextResult(reading, text));
  const words = texts
    .map((text) => text.words)
    .filter((part) => part !== '')
    .join('\n');
  if (texts.some(({ result, text }) => !result && listsRecovery(text))) conversation.offerRecovery();
  noteUserWords(message, words);
  if (words !== '' && conversation.id === '') conversation.begin(textHash(words));
  conversation.userSaid(words);
  conversation.userAnswered();
  if (message.opaque) return [];
  const files = texts.flatMap((text) => (text.result ? [] : readFiles(reading, text)));
  return [...results, ...files];
}

function readFiles(
  { messageIndex, conversation, settings }: Reading,
  { files, text: whole, literal, index }: UserText,
): FoundText[] {
  return files
    .filter(({ start, end }) => end - start >= settings.minPruneChars)
    .map(({ start, end, path }) => {
      const text = whole.slice(start, end);
      const hints: Hints = { origin: 'read', path: path || undefined };
      const exempt = path !== '' && settings.neverPrunePath(path);
      const skip = exempt ? 'exempt' : text.length > settings.maxInputChars ? 'input_too_large' : '';
      const lift = (edits: readonly Edit[]) => shift(edits, start);
      const job = jobOf(text, conversation.userWords, hints, '', settings, recoveryHint(conversation));
      const markerIds = markedIn(text);
      const place = { text: index, json: [], start, chars: text.length };
      return { messageIndex, literal, start, entire: false, place, lift, job, skip, markerIds, around: [] };
    });
}
