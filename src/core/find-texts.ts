import type { ScannedMessage, ScannedText } from '../dialects/dialect.ts';
import { splitLines } from '../engine/text/lines.ts';
import type { ReasonLanguage } from '../engine/text/reasons.ts';
import type { Edit, RenderOptions } from '../engine/text/render.ts';
import type { Hints, Limits } from '../engine/types.ts';
import type { Conversation } from '../goal/conversation.ts';
import { decodeString, type Span } from '../json/cursor.ts';
import { longJsonFields } from '../json/fields.ts';
import { encodeEdits } from '../json/strings.ts';
import { findFileBlocks, ownWords } from '../transcript/file-blocks.ts';
import { findFrame } from '../transcript/frames.ts';
import { type CallFacts, callFacts, isRecovery, namesRecovery } from '../transcript/tools.ts';
import type { Job } from './decide/decision.ts';
import type { WayBack } from './decide/way-back.ts';
import { fingerprint, keyOf, pruneIdsIn, textHash } from './hash.ts';
import { shift, type TextPlace } from './sent/text-place.ts';

/** What of the configuration decides which texts are looked at, and how. */
export interface FindSettings {
  readonly minPruneChars: number;
  readonly maxInputChars: number;
  readonly limits: Limits;
  /** Language of the reasons in markers, French where it is absent. */
  readonly reasonLanguage?: ReasonLanguage;
  readonly neverPruneTool: (name: string) => boolean;
  readonly neverPrunePath: (path: string) => boolean;
}

/** A text of a message that is large enough to be pruned. */
export interface FoundText {
  readonly messageIndex: number;
  /** The JSON string in the body that holds it, quotes included. */
  readonly literal: Span;
  /** Where the file that it is begins in the decoded string; 0 for a result. */
  readonly start: number;
  /** It is the whole of the decoded string. */
  readonly entire: boolean;
  /** Where it stands in its message. */
  readonly place: TextPlace;
  /** Turns edits of the text into edits of the decoded string. */
  readonly lift: (edits: readonly Edit[]) => Edit[];
  readonly job: Job;
  /** Set when the text goes whole whatever its content: `exempt`, `recovered`, `input_too_large`, `pinned`, `past`. */
  readonly skip: string;
  /** How its cuts were written when they were sent first; absent: as the settings say now. */
  readonly render?: RenderOptions;
  /** Prune ids named by markers in the text. */
  readonly markerIds: readonly string[];
  /** Hashes of the JSON that it was taken out of, from the whole result inwards. */
  readonly around: readonly string[];
}

/** Arguments longer than this (whole files written) say nothing about what the agent is after. */
const MAX_ARGS_BYTES = 64 * 1024;
/** How much of a tool's name is recorded. */
const MAX_NAME = 200;
/** How deep JSON in strings of JSON is looked into. */
const MAX_NESTING = 3;

/**
 * Reads one message: folds it into the conversation and finds its large texts. Must be called for each message in
 * order.
 */
export function findTexts(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  conversation: Conversation,
  settings: FindSettings,
): FoundText[] {
  // names of tools that are looked up first, and Codex's tools, stand in messages of the client's own
  if (message.role === 'other' && namesRecovery(bytes, message.span)) conversation.offerRecovery();
  const found: FoundText[] = [];
  const results = message.texts.filter(({ use }) => use === 'result');
  for (const of of byCall(results)) found.push(...readResult(bytes, message, of, messageIndex, conversation, settings));
  if (message.role === 'user') found.push(...readUser(bytes, message, messageIndex, conversation, settings));
  else if (message.role === 'assistant') readAssistant(bytes, message, conversation);
  return found.sort((a, b) => a.literal.start - b.literal.start);
}

/** The texts of each result; a message may hold results of several calls. */
function byCall(results: readonly ScannedText[]): ScannedText[][] {
  const calls = new Map<string, ScannedText[]>();
  for (const text of results) {
    const key = JSON.stringify([text.callId, text.name]);
    const of = calls.get(key);
    if (of) of.push(text);
    else calls.set(key, [text]);
  }
  return [...calls.values()];
}

function readAssistant(bytes: Buffer, message: ScannedMessage, conversation: Conversation): void {
  if (message.calls.length === 0) return;
  const texts = message.texts.filter(({ use }) => use === 'said');
  const said = texts.map(({ literal }) => decodeString(bytes, literal.start, literal.end) ?? '').join('\n');
  const calls = message.calls.map(({ id, name, args }) => ({ id, call: { name, args: argsText(bytes, args) } }));
  if (calls.some(({ call }) => isRecovery(call))) conversation.offerRecovery();
  conversation.assistantSaid(said, calls);
}

function argsText(bytes: Buffer, args: Span | null): string {
  if (!args || args.end - args.start > MAX_ARGS_BYTES) return '';
  // Some clients send the arguments as an object instead of JSON in a string.
  return decodeString(bytes, args.start, args.end) ?? bytes.toString('utf8', args.start, args.end);
}

function readResult(
  bytes: Buffer,
  message: ScannedMessage,
  texts: readonly ScannedText[],
  messageIndex: number,
  conversation: Conversation,
  settings: FindSettings,
): FoundText[] {
  const large = texts.filter(({ literal }) => literal.end - literal.start - 2 >= settings.minPruneChars);
  const [first] = large;
  if (!first || message.opaque) return [];
  const call = conversation.callOf(first.callId, first.name);
  const facts = callFacts(call);
  const tool = call?.name ?? first.name;
  const goal = conversation.goalFor(call, facts.question, facts.said);
  const recovery = isRecovery(call) || isRecovery({ name: first.name, args: '' });
  const exempt =
    settings.neverPruneTool(tool) || (facts.hints.path !== undefined && settings.neverPrunePath(facts.hints.path));
  const way = wayBack(conversation);
  const found: FoundText[] = [];
  for (const { literal } of large) {
    const decoded = decodeString(bytes, literal.start, literal.end);
    if (decoded === null) continue;
    const recovered = recovery || holdsRecovered(decoded);
    const reread = conversation.isReread(keyOf(call?.name ?? '', call?.args ?? ''), literal, ({ start, end }) =>
      fingerprint(decodeString(bytes, start, end) ?? ''),
    );
    const index = message.texts.findIndex((one) => one.literal === literal);
    for (const { text, around, json, lift } of innerTexts(decoded, settings.minPruneChars)) {
      const skip = recovered
        ? 'recovered'
        : exempt
          ? 'exempt'
          : text.length > settings.maxInputChars
            ? 'input_too_large'
            : '';
      const hints = withFrame(facts, text);
      const job = jobOf(text, goal, hints, tool, settings, way, reread ? 'reread' : undefined);
      const entire = around.length === 0;
      const place = { text: index, json, start: 0, chars: text.length };
      found.push({
        messageIndex,
        literal,
        start: 0,
        entire,
        place,
        lift,
        job,
        skip,
        markerIds: pruneIdsIn(text),
        around,
      });
    }
  }
  return found;
}

/** A result of `recover_text` in whatever a client wrapped it: its fields' names stand in it, escaped or not. */
export function holdsRecovered(text: string): boolean {
  return text.includes('line_numbering') && text.includes('raw_text');
}

function withFrame(facts: CallFacts, text: string): Hints {
  const { head, tail } = findFrame(splitLines(text));
  return { ...facts.hints, ...(head > 0 && { frameHead: head }), ...(tail > 0 && { frameTail: tail }) };
}

/** A text of a user's message. */
export interface UserText {
  readonly literal: Span;
  readonly text: string;
  /** Files in it, without the frames around them, in order. */
  readonly files: readonly { readonly start: number; readonly end: number; readonly path: string }[];
  /** The user's own words in it. */
  readonly words: string;
}

/** Takes a user's message apart into words and files. */
export function userTexts(bytes: Buffer, message: ScannedMessage): UserText[] {
  let announced = '';
  return message.texts.flatMap(({ literal, use, name }) => {
    if (use !== 'words' && use !== 'document') return [];
    const text = decodeString(bytes, literal.start, literal.end);
    if (text === null) return [];
    if (use === 'document' || announced !== '') {
      // The part before this one said that this part is a file.
      const files = [{ start: 0, end: text.length, path: name || announced }];
      announced = '';
      return { literal, text, files, words: '' };
    }
    announced = /(?:^|\n)Content (?:from|of) @?(\S{1,500}?):\s*$/.exec(text.slice(-600))?.[1] ?? '';
    const blocks = findFileBlocks(text);
    const files = blocks.filter(({ pasted }) => !pasted).map(({ start, end, path }) => ({ start, end, path }));
    return { literal, text, files, words: ownWords(text, blocks) };
  });
}

function readUser(
  bytes: Buffer,
  message: ScannedMessage,
  messageIndex: number,
  conversation: Conversation,
  settings: FindSettings,
): FoundText[] {
  const texts = userTexts(bytes, message);
  const files = texts.flatMap((whole) =>
    whole.files.map(({ start, end, path }) => ({
      literal: whole.literal,
      start,
      text: whole.text.slice(start, end),
      path,
    })),
  );
  const words = texts
    .map((text) => text.words)
    .filter((part) => part !== '')
    .join('\n');
  if (words !== '' && conversation.id === '') conversation.begin(textHash(words));
  conversation.userSaid(words);
  if (message.opaque) return [];
  return files
    .filter(({ text }) => text.length >= settings.minPruneChars)
    .map(({ literal, start, text, path }) => {
      const hints: Hints = { origin: 'read', ...(path && { path }) };
      const exempt = path !== '' && settings.neverPrunePath(path);
      const skip = exempt ? 'exempt' : text.length > settings.maxInputChars ? 'input_too_large' : '';
      const lift = (edits: readonly Edit[]) => shift(edits, start);
      const job = jobOf(text, conversation.asked, hints, '', settings, wayBack(conversation));
      const markerIds = pruneIdsIn(text);
      const index = message.texts.findIndex((one) => one.literal === literal);
      const place = { text: index, json: [], start, chars: text.length };
      return { messageIndex, literal, start, entire: false, place, lift, job, skip, markerIds, around: [] };
    });
}

function wayBack({ recovers }: Conversation): WayBack {
  return recovers ? 'tool' : 'shell';
}

function jobOf(
  text: string,
  goal: string,
  hints: Hints,
  tool: string,
  settings: FindSettings,
  way: WayBack,
  keepWhole?: string,
): Job {
  const { limits, reasonLanguage } = settings;
  const base = {
    text,
    textHash: textHash(text),
    goal,
    hints,
    limits,
    tool: tool.slice(0, MAX_NAME),
    scope: 'proxy' as const,
    wayBack: way,
    ...(reasonLanguage && { reasonLanguage }),
  };
  return keepWhole === undefined ? base : { ...base, keepWhole };
}

interface InnerText extends Pick<FoundText, 'around' | 'lift'>, Pick<TextPlace, 'json'> {
  readonly text: string;
}

/** The texts to judge in a result: itself, or the long strings in it when it is JSON (and in those, again). */
function innerTexts(text: string, minChars: number, around: readonly string[] = []): InnerText[] {
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
