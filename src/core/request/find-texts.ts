import { groupBy } from '../../engine/group-by.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Edit, RenderOptions } from '../../engine/text/render.ts';
import type { Dial, Hints, Limits } from '../../engine/types.ts';
import type { ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import type { CallInContext, Conversation } from '../../wires/goal/conversation.ts';
import { decodeString, type Span } from '../../wires/json/cursor.ts';
import { encodeEdits, longJsonFields } from '../../wires/json/value.ts';
import { movesWindow, shownFiles, withWindowFile } from '../../wires/transcript/call-targets.ts';
import { type RecoveredLines, shellRecovery } from '../../wires/transcript/shell-recovery.ts';
import { frameOf } from '../../wires/transcript/text-results.ts';
import {
  type CallFacts,
  callFacts,
  callsRecovery,
  isPlan,
  listsRecovery,
  namesRecovery,
  type ToolCall,
} from '../../wires/transcript/tools.ts';
import type { Job, RecoveryHint } from '../decide/decision.ts';
import { markedIn } from '../decide/own-markers.ts';
import { fingerprint, keyOf, textHash } from '../hash.ts';
import type { TextPlace } from '../ports/sent.ts';
import { shift } from '../sent/text-place.ts';
import type { BodyTexts } from './body-texts.ts';
import { noteUserWords } from './user-signs.ts';
import { type UserText, userTexts } from './user-texts.ts';
import { whyWhole } from './why-whole.ts';

/** The settings that decide which texts are candidates. */
export interface FindSettings {
  readonly minPruneChars: number;
  /** Minimum size of program output, whose repetitive kinds are cut at smaller sizes. Default: `minPruneChars`. */
  readonly minOutputChars?: number;
  readonly maxInputChars: number;
  readonly limits: Limits;
  /** How boldly texts are cut; absent: careful. */
  readonly dial?: Dial | undefined;
  /** Language of the reasons in markers, French if absent. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Program that a marker names to an agent without `recover_text`; `mcp-pruner` if absent. */
  readonly recoverCommand?: string;
  readonly neverPruneTool: (name: string) => boolean;
  readonly neverPrunePath: (path: string) => boolean;
}

/** A text of a message that is large enough to be pruned. */
export interface FoundText {
  readonly messageIndex: number;
  /** The JSON string in the body that contains it, quotes included. */
  readonly literal: Span;
  /** Offset of the text in the decoded string; 0 if it is the whole string, or lies in a JSON string nested in it. */
  readonly start: number;
  /** Whether it is the whole decoded string. */
  readonly entire: boolean;
  /** Its place in its message. */
  readonly place: TextPlace;
  /** Turns edits of the text into edits of the decoded string. */
  readonly lift: (edits: readonly Edit[]) => Edit[];
  readonly job: Job;
  /** Why the text stays whole whatever it contains: `exempt`, `recovered`, `input_too_large`, `pinned`, `past`. */
  readonly skip: string;
  /** The form of its markers when it was first sent. Default: today's settings. */
  readonly render?: RenderOptions;
  /** Prune ids named by markers in this text; `SHORT_ID`, at most once, stands for all markers without an id. */
  readonly markerIds: readonly string[];
  /** Hashes of the JSON texts that contain it, outermost first. */
  readonly around: readonly string[];
  /** Lines that shell commands had given out before it; absent if there are none, or if it stays whole anyway. */
  readonly recovered?: readonly RecoveredLines[];
}

/**
 * Maximum size of arguments that are read: longer ones (whole files that are written) do not describe the goal of the
 * call.
 */
const MAX_ARGS_BYTES = 64 * 1024;
/** Maximum number of recorded characters of a tool's name. */
const MAX_NAME = 200;
/** Maximum depth of JSON nested in JSON strings that is read. */
const MAX_NESTING = 3;

/** A message that is being read, with the conversation up to it. */
export interface Reading {
  /** The strings of the body. */
  readonly texts: BodyTexts;
  readonly message: ScannedMessage;
  readonly messageIndex: number;
  /** The state after the messages before it. Reading the message updates it. */
  readonly conversation: Conversation;
  readonly settings: FindSettings;
  /** Results that are long enough to be stored are added here. */
  readonly results: ReadResult[];
}

/** Minimum length of results that are stored for searches, in UTF-16 units. */
export const MIN_KEPT_CHARS = 1_000;

/** A tool's result that is long enough to be stored for searches, whether or not it is large enough to be cut. */
export interface ReadResult {
  readonly messageIndex: number;
  readonly source: ScannedText;
  /** The part of the decoded string that is the result. */
  readonly range: { readonly start: number; readonly end: number };
  readonly tool: string;
  readonly path: string;
  /** What the call asked for, in the words of its arguments. */
  readonly said: string;
  /** Hash of the call's name and arguments; `''` if neither is known. */
  readonly call: string;
  /** It is the answer to a recovery, whose lines are stored already. */
  readonly recovered: boolean;
  /** Whether all of its texts are among the found texts. */
  readonly isFound: boolean;
}

/**
 * Reads one message: updates the conversation with it and finds its large texts. Must be called for each message in
 * order.
 */
export function findTexts(reading: Reading): FoundText[] {
  const { texts, message, conversation } = reading;
  // deferred tools, and Codex's tools, are listed in messages of role `other`
  if (message.role === 'other' && namesRecovery(texts.bytes, message.span)) conversation.offerRecovery();
  const found = byCall(message.texts).flatMap((parts) => readResult(reading, parts));
  if (message.role === 'tool') conversation.toolAnswered();
  if (message.role === 'user') found.push(...readUser(reading));
  else if (message.role === 'assistant') readAssistant(reading);
  return found.sort((a, b) => a.literal.start - b.literal.start);
}

/** The texts of each result; a message may contain results of several calls. */
function byCall(texts: readonly ScannedText[]): ScannedText[][] {
  const results = texts.filter(({ use }) => use === 'result');
  return [...groupBy(results, ({ callId, name }) => JSON.stringify([callId, name])).values()];
}

function readAssistant({ texts, message, conversation }: Reading): void {
  const parts = message.texts.filter(({ use, literal }) => use === 'said' && !isTooLong(literal));
  const said = parts.map(({ literal }) => texts.at(literal) ?? '').join('\n');
  const calls = message.calls.map(({ id, name, args }) => ({ id, call: { name, args: argsText(texts, args) } }));
  foldAnswer(conversation, said, calls);
}

/** Adds a message of the model, or one item of its answer, to a conversation. */
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
  // Some clients send the arguments as an object instead of JSON in a string.
  return texts.at(args) ?? texts.bytes.toString('utf8', args.start, args.end);
}

function readResult(reading: Reading, parts: readonly ScannedText[]): FoundText[] {
  const { texts, message, messageIndex, conversation, settings } = reading;
  const [first] = parts;
  if (!first) return [];
  const call = callAnswered(reading, first);
  const shell = shellRecovery(call);
  if (shell) conversation.gaveOut(shell.lines);
  const files = shownFiles(call);
  const shown = conversation.isShownAgain(files, callKey(call));
  const lowest = Math.min(MIN_KEPT_CHARS, minChars(settings));
  const candidates = parts.filter(({ literal }) => literal.end - literal.start - 2 >= lowest);
  if (candidates.length === 0 || message.opaque) return [];
  const result = resultOf(call, first.name, conversation, shell?.alone);
  const min = minCharsOf(result, settings);
  for (const source of candidates) noteResult(reading, source, result, conversation.callOf(first.callId, first.name));
  const large = candidates.filter(({ literal }) => literal.end - literal.start - 2 >= min);
  return large.flatMap(({ literal }) => {
    const index = message.texts.findIndex((one) => one.literal === literal);
    if (isTooLong(literal)) return [unread({ messageIndex, literal, index }, result, settings)];
    const decoded = texts.at(literal);
    if (decoded === null) return [];
    const isRepeated = isReread(reading, literal, result) || shown;
    const piece = { messageIndex, literal, index, start: 0, text: decoded, entire: true };
    return textsOf(
      piece,
      result,
      whyWhole({ call, files, isRepeated, text: decoded, conversation, dial: settings.dial }),
      settings,
    );
  });
}

/** Adds a result to those that may be stored. Its text is decoded later, unless it was large enough to be cut. */
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

/**
 * The call that a result answers. A call that moves a viewer's window is completed with the file that the window shows.
 */
function callAnswered({ texts, conversation }: Reading, { callId, name, literal }: ScannedText) {
  const call = conversation.callOf(callId, name);
  if (!call || !movesWindow(call) || isTooLong(literal)) return call;
  return withWindowFile(call, texts.at(literal) ?? '');
}

/** The context in which the texts of one result are decided. */
interface ResultInContext {
  readonly call: ToolCall | undefined;
  readonly facts: CallFacts;
  readonly tool: string;
  readonly goal: string;
  readonly recovery: boolean;
  readonly way: RecoveryHint;
  /** Lines that shell commands have given out up to here. */
  readonly recovered: readonly RecoveredLines[];
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
  const { recovered } = conversation;
  return { call, facts, tool: call?.name ?? name, goal, recovery, way: recoveryHint(conversation), recovered };
}

/** Minimum length of a text that may be a candidate, in characters. */
function minChars({ minPruneChars, minOutputChars = minPruneChars }: FindSettings): number {
  return Math.min(minPruneChars, minOutputChars);
}

/** Minimum length of a candidate, in characters: smaller for program output than for a file. */
function minCharsOf({ facts }: ResultInContext, settings: FindSettings): number {
  const { origin } = facts.hints;
  return origin === 'command' || origin === 'listing' || origin === 'search'
    ? minChars(settings)
    : settings.minPruneChars;
}

/** Equal for calls of the same tool with the same arguments. */
function callKey(call: ToolCall | undefined): string {
  return keyOf(call?.name ?? '', call?.args ?? '');
}

function isReread({ texts, conversation }: Reading, literal: Span, { call }: ResultInContext): boolean {
  // an earlier text is read for this alone, so its decoded form is not kept
  return conversation.isReread(callKey(call), literal, (at) =>
    fingerprint((at === literal ? texts.at(at) : decodeString(texts.bytes, at.start, at.end)) ?? ''),
  );
}

/** A JSON string that is a result, or the part of a string that is one. */
interface Piece {
  readonly messageIndex: number;
  readonly literal: Span;
  /** Index of the string among the message's texts. */
  readonly index: number;
  /** Where it begins in the decoded string. */
  readonly start: number;
  readonly text: string;
  readonly entire: boolean;
}

/** A result that is too long to be decoded. It stays whole, and its text is unknown. */
function unread(
  { messageIndex, literal, index }: Pick<Piece, 'messageIndex' | 'literal' | 'index'>,
  { facts, tool, goal, way }: ResultInContext,
  settings: FindSettings,
): FoundText {
  return {
    messageIndex,
    literal,
    start: 0,
    entire: true,
    place: { text: index, json: [], start: 0, chars: 0 },
    lift: (edits) => [...edits],
    job: jobOf('', goal, facts.hints, tool, settings, way),
    skip: 'input_too_large',
    markerIds: [],
    around: [],
  };
}

function textsOf(piece: Piece, result: ResultInContext, keepWhole: string, settings: FindSettings): FoundText[] {
  const { messageIndex, literal, index, start } = piece;
  const { facts, tool, goal, way } = result;
  const { path } = facts.hints;
  const recovered = result.recovery || containsRecovered(piece.text);
  const exempt = settings.neverPruneTool(tool) || (path !== undefined && settings.neverPrunePath(path));
  return innerTexts(piece.text, minCharsOf(result, settings)).map(({ text, around, json, lift }): FoundText => {
    const skip = recovered
      ? 'recovered'
      : exempt
        ? 'exempt'
        : text.length > settings.maxInputChars
          ? 'input_too_large'
          : '';
    const whole = jobOf(text, goal, withFrame(facts, text), tool, settings, way, keepWhole);
    const job = text.length < settings.minPruneChars ? { ...whole, small: true } : whole;
    const [outermost, ...inner] = json;
    const at = outermost === undefined ? start : 0;
    const within = outermost === undefined ? [] : [start + outermost, ...inner];
    return {
      messageIndex,
      literal,
      start: at,
      entire: piece.entire && around.length === 0,
      place: { text: index, json: within, start: at, chars: text.length },
      lift: start === 0 ? lift : (edits) => shift(lift(edits), start),
      job,
      skip,
      markerIds: markedIn(text),
      around,
      ...(result.recovered.length > 0 && skip === '' && { recovered: result.recovered }),
    };
  });
}

/**
 * Whether a text is a `recover_text` result, however the client wraps it: it contains the names of the result's fields,
 * escaped or not.
 */
export function containsRecovered(text: string): boolean {
  return text.includes('line_numbering') && text.includes('raw_text');
}

function withFrame(facts: CallFacts, text: string): Hints {
  const { head, tail } = frameOf(text);
  return { ...facts.hints, frameHead: head || undefined, frameTail: tail || undefined };
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

/** The texts of a result in a user's message. */
function readTextResult(reading: Reading, { result, text, literal, index }: UserText): FoundText[] {
  const { message, messageIndex, conversation, settings } = reading;
  const lowest = Math.min(MIN_KEPT_CHARS, minChars(settings));
  const candidates = result?.ranges.filter(({ start, end }) => end - start >= lowest) ?? [];
  if (!result) return [];
  const call = result.call ? conversation.textCall(withWindowFile(result.call, text)) : undefined;
  const shell = shellRecovery(call);
  if (shell) conversation.gaveOut(shell.lines);
  const files = shownFiles(call);
  const shown = conversation.isShownAgain(files, callKey(call));
  if (candidates.length === 0) return [];
  const context = resultOf(call, '', conversation, shell?.alone);
  const min = minCharsOf(context, settings);
  const { facts } = context;
  const factsOf = (path: string | undefined): CallFacts =>
    path === undefined ? facts : { ...facts, hints: { ...facts.hints, path } };
  const source = message.texts[index];
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
      dial: settings.dial,
    });
    return textsOf(piece, { ...context, facts: named }, whole, settings);
  });
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

function recoveryHint({ recovers }: Conversation): RecoveryHint {
  return recovers ? 'tool' : 'shell';
}

function jobOf(
  text: string,
  goal: string,
  hints: Hints,
  tool: string,
  settings: FindSettings,
  way: RecoveryHint,
  keepWhole = '',
): Job {
  const { limits, dial, reasonLanguage, recoverCommand } = settings;
  const base = {
    text,
    textHash: textHash(text),
    goal,
    hints,
    limits,
    dial,
    tool: tool.slice(0, MAX_NAME),
    caller: 'proxy' as const,
    recoveryHint: way,
    reasonLanguage,
    recoverCommand: way === 'shell' ? recoverCommand : undefined,
  };
  return keepWhole === '' ? base : { ...base, keepWhole };
}

/** A text of a result: the result itself, or a long string in its JSON. */
export interface InnerText extends Pick<FoundText, 'around' | 'lift'>, Pick<TextPlace, 'json'> {
  readonly text: string;
}

/**
 * The texts of a result that are decided about: the result itself or, if it is JSON, the long strings in it,
 * recursively.
 */
export function innerTexts(text: string, minChars: number, around: readonly string[] = []): InnerText[] {
  if (text.length < minChars) return [];
  const fields = around.length < MAX_NESTING ? longJsonFields(text, minChars) : null;
  if (!fields) return [{ text, around, json: [], lift: (edits) => [...edits] }];
  const within = [...around, textHash(text)];
  return fields.flatMap(({ start, end, value }) => {
    const raw = text.slice(start + 1, end - 1);
    return innerTexts(value, minChars, within).map((inner) => ({
      ...inner,
      json: [start, ...inner.json],
      lift: (edits: readonly Edit[]) => encodeEdits(raw, inner.lift(edits), start + 1),
    }));
  });
}

/**
 * About three million tokens, more than any model accepts. Also the most bytes that two million characters take in
 * JSON.
 */
const MAX_LITERAL_BYTES = 12 * 1024 * 1024;

/**
 * Whether a string of a body is too long to be decoded. Decoding one of 60 MB would block all other requests for two
 * seconds.
 */
export function isTooLong({ start, end }: Span): boolean {
  return end - start > MAX_LITERAL_BYTES;
}
