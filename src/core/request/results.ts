import { groupBy } from '../../engine/group-by.ts';
import type { ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import type { CallInContext } from '../../wires/goal/kept-conversation.ts';
import { decodeString, type Span } from '../../wires/json/cursor.ts';
import { movesWindow, shownFiles, withWindowFile } from '../../wires/transcript/call-targets.ts';
import { shellRecovery } from '../../wires/transcript/shell-recovery.ts';
import { type CallFacts, callFacts, callsRecovery, type ToolCall } from '../../wires/transcript/tools.ts';
import { fingerprint, keyOf } from '../hash.ts';
import {
  type BodyTexts,
  type FindSettings,
  type FoundText,
  isTooLong,
  minChars,
  minCharsOf,
  type ResultInContext,
  recoveryHint,
  textsOf,
  type UserText,
  unread,
} from './found-text.ts';
import { mayRepeat } from './repeats.ts';
import { noteEdit, noteShort, noteShown } from './shown.ts';
import { whyWhole } from './why-whole.ts';

/** A message being read, with the conversation before it. */
export interface Reading {
  /** The strings of the body. */
  readonly texts: BodyTexts;
  readonly message: ScannedMessage;
  readonly messageIndex: number;
  /** State before the message. Reading the message updates it. */
  readonly conversation: Conversation;
  readonly settings: FindSettings;
  /** Collects results that are long enough to be stored. */
  readonly results: ReadResult[];
}

/** Minimum length of results stored for searches, in UTF-16 units. */
export const MIN_KEPT_CHARS = 1_000;

/** A tool result that is long enough to be stored for searches, whether or not it may be cut. */
export interface ReadResult {
  readonly messageIndex: number;
  readonly source: ScannedText;
  /** Range of the result in the decoded string. */
  readonly range: { readonly start: number; readonly end: number };
  readonly tool: string;
  readonly path: string;
  /** What the call requested, taken from its arguments. */
  readonly said: string;
  /** Hash of the call's name and arguments; `''` if both are unknown. */
  readonly call: string;
  /** The result answers a recovery, so its lines are stored already. */
  readonly recovered: boolean;
  /** Whether all of its texts are among the found texts. */
  readonly isFound: boolean;
}

/** Groups texts by result; a message may contain results of several calls. */
export function byCall(texts: readonly ScannedText[]): ScannedText[][] {
  const results = texts.filter(({ use }) => use === 'result');
  return [...groupBy(results, ({ callId, name }) => JSON.stringify([callId, name])).values()];
}

export function readResult(reading: Reading, parts: readonly ScannedText[]): FoundText[] {
  const { texts, message, messageIndex, conversation, settings } = reading;
  const [first] = parts;
  if (!first) return [];
  const call = callAnswered(reading, first);
  const shell = shellRecovery(call);
  if (shell) conversation.gaveOut(shell.lines);
  const files = shownFiles(call);
  const shown = conversation.isShownAgain(files, callKey(call));
  noteEdit(reading, call, first);
  if (message.opaque) return [];
  const result = resultOf(call, first.name, conversation, shell?.isWholeOutput);
  const lowest = Math.min(settings.minKeptChars ?? MIN_KEPT_CHARS, minChars(settings));
  const min = minCharsOf(result, settings);
  return parts.flatMap((source) => {
    const { literal } = source;
    const size = literal.end - literal.start - 2;
    if (size >= lowest) noteResult(reading, source, result, conversation.callOf(first.callId, first.name));
    const index = message.texts.findIndex((one) => one.literal === literal);
    if (isTooLong(literal)) return [unread({ messageIndex, literal, index }, result, settings)];
    const decoded = size >= min ? texts.at(literal) : null;
    if (decoded === null) {
      const entry = noteShort(reading, { ...result, files }, source);
      if (entry === null || settings.repeats !== true || size < minChars(settings) || !mayRepeat(entry)) return [];
      const short = { messageIndex, literal, index, start: 0, text: texts.at(literal) ?? '', entire: true };
      const found = textsOf(short, result, 'short', { ...settings, minPruneChars: 0, minOutputChars: 0 });
      return found.filter(({ entire }) => entire).map((text) => ({ ...text, shown: entry }));
    }
    const isRepeated = isReread(reading, literal, result) || shown;
    const piece = { messageIndex, literal, index, start: 0, text: decoded, entire: true };
    const whole = whyWhole({ call, files, isRepeated, text: decoded, conversation });
    return noteShown(reading, { ...result, files }, textsOf(piece, result, whole, settings));
  });
}

/** Queues a result for storing. Its text is decoded later, unless it was large enough to be cut. */
function noteResult(
  { messageIndex, results, settings }: Reading,
  source: ScannedText,
  result: ResultInContext,
  call: CallInContext | undefined,
  range?: ReadResult['range'],
): void {
  const { start, end } = source.literal;
  const { facts, tool, recovery } = result;
  const { path = '', command = '' } = facts.hints;
  const named = path === '' && command === '' ? '' : keyOf(tool, path, command);
  const said = call === undefined ? [path, command].filter(Boolean).join('\n') : facts.said;
  results.push({
    messageIndex,
    source,
    range: range ?? { start: 0, end: end - start },
    tool,
    path,
    said: call === undefined || call === result.call ? said : callFacts(call).said,
    call: call ? keyOf(call.name, call.args) : named,
    recovered: recovery,
    isFound: minCharsOf(result, settings) <= MIN_KEPT_CHARS,
  });
}

/** The call that a result answers. If the call only scrolls a viewer, the viewed file is filled in. */
function callAnswered({ texts, conversation }: Reading, { callId, name, literal }: ScannedText) {
  const call = conversation.callOf(callId, name);
  if (!call || !movesWindow(call) || isTooLong(literal)) return call;
  return withWindowFile(call, texts.at(literal) ?? '');
}

function resultOf(
  call: CallInContext | undefined,
  name: string,
  conversation: Conversation,
  recoversAlone = false,
): ResultInContext {
  const facts = callFacts(call);
  const goal = conversation.goalFor(call, facts.question, facts.said);
  const recovery = recoversAlone || callsRecovery(call) || callsRecovery({ name, args: '' });
  const { recovered, warnsSince } = conversation;
  const way = recoveryHint(conversation);
  return { call, facts, tool: call?.name ?? name, goal, recovery, way, recovered, warnsSince };
}

/** Equal for calls of the same tool with equal arguments. */
function callKey(call: ToolCall | undefined): string {
  return keyOf(call?.name ?? '', call?.args ?? '');
}

function isReread({ texts, conversation }: Reading, literal: Span, { call }: ResultInContext): boolean {
  // an earlier text is read only for this comparison, so its decoded form is not kept
  return conversation.isReread(callKey(call), literal, (at) =>
    fingerprint((at === literal ? texts.at(at) : decodeString(texts.bytes, at.start, at.end)) ?? ''),
  );
}

/** Finds the texts of a result that an agent sends as a user message. */
export function readTextResult(reading: Reading, { result, text, literal, index }: UserText): FoundText[] {
  const { message, messageIndex, conversation, settings } = reading;
  const lowest = Math.min(settings.minKeptChars ?? MIN_KEPT_CHARS, minChars(settings));
  const candidates = result?.ranges.filter(({ start, end }) => end - start >= lowest) ?? [];
  if (!result) return [];
  const call = result.call ? conversation.textCall(withWindowFile(result.call, text)) : undefined;
  const shell = shellRecovery(call);
  if (shell) conversation.gaveOut(shell.lines);
  const files = shownFiles(call);
  const shown = conversation.isShownAgain(files, callKey(call));
  const source = message.texts[index];
  if (source) noteEdit(reading, call, source);
  if (candidates.length === 0) return [];
  const context = resultOf(call, '', conversation, shell?.isWholeOutput);
  const min = minCharsOf(context, settings);
  const { facts } = context;
  const factsOf = (path: string | undefined): CallFacts =>
    path === undefined ? facts : { ...facts, hints: { ...facts.hints, path } };
  for (const { start, end, path } of source && context.tool !== '' ? candidates : [])
    if (source) noteResult(reading, source, { ...context, facts: factsOf(path) }, undefined, { start, end });
  const large = candidates.filter(({ start, end }) => end - start >= min);
  if (!candidates.some(({ start, end }) => end - start >= minChars(settings))) return [];
  const isRepeated = isReread(reading, literal, context) || shown;
  return large.flatMap(({ start, end, path }) => {
    const named = factsOf(path);
    const piece = { messageIndex, literal, index, start, text: text.slice(start, end), entire: false };
    const whole = whyWhole({
      call,
      files: path === undefined ? files : [path],
      isRepeated,
      text: piece.text,
      conversation,
    });
    const shownResult = { ...context, facts: named, files: path === undefined ? files : [path] };
    return noteShown(reading, shownResult, textsOf(piece, shownResult, whole, settings));
  });
}
