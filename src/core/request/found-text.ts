import type { LineHashes } from '../../engine/text/line-hashes.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Edit, RenderOptions } from '../../engine/text/render.ts';
import type { Hints, Limits } from '../../engine/types.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import type { ShownEntry } from '../../wires/goal/shown-lines.ts';
import { decodeString, type Span } from '../../wires/json/cursor.ts';
import { encodeEdits, longJsonFields } from '../../wires/json/value.ts';
import { findFileBlocks, ownWords } from '../../wires/transcript/file-blocks.ts';
import type { RecoveredLines } from '../../wires/transcript/shell-recovery.ts';
import { announcesResult, frameOf, type TextResult, textResult } from '../../wires/transcript/text-results.ts';
import type { CallFacts, ToolCall } from '../../wires/transcript/tools.ts';
import type { Job, RecoveryHint } from '../decide/decision.ts';
import { markedIn } from '../decide/own-markers.ts';
import { textHash } from '../hash.ts';
import type { TextPlace } from '../ports.ts';
import { shift } from '../sent/text-place.ts';

/** Decoded strings of a body. Each is decoded at most once and shared by all readers. */
export class BodyTexts {
  readonly bytes: Buffer;
  readonly #decoded = new Map<number, string | null>();

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Decodes the JSON string at a span that includes its quotes; `null` if there is none. */
  at({ start, end }: Span): string | null {
    const known = this.#decoded.get(start);
    if (known !== undefined) return known;
    const text = decodeString(this.bytes, start, end);
    this.#decoded.set(start, text);
    return text;
  }
}

/** About three million tokens, more than any model accepts. Two million characters never take more bytes in JSON. */
const MAX_LITERAL_BYTES = 12 * 1024 * 1024;

/**
 * Whether a string of a body is too long to be decoded. Decoding one of 60 MB would block all other requests for two
 * seconds.
 */
export function isTooLong({ start, end }: Span): boolean {
  return end - start > MAX_LITERAL_BYTES;
}

/** Settings that determine which texts are candidates. */
export interface FindSettings {
  readonly minPruneChars: number;
  /** Minimum length of results that are collected to be stored. Default: `MIN_KEPT_CHARS`. */
  readonly minKeptChars?: number;
  /** Minimum size of program output, which is often repetitive and worth cutting earlier. Default: `minPruneChars`. */
  readonly minOutputChars?: number;
  readonly maxInputChars: number;
  readonly limits: Limits;
  /** Whether lines that an earlier result shows are cut. Default: no. */
  readonly repeats?: boolean;
  /** Language of the reasons in markers. Default: French. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Program named in markers if the agent has no `recover_text`. Default: `mcp-pruner`. */
  readonly recoverCommand?: string;
  readonly neverPruneTool: (name: string) => boolean;
  readonly neverPrunePath: (path: string) => boolean;
}

/** A text in a message that is large enough to be pruned. */
export interface FoundText {
  readonly messageIndex: number;
  /** Span of the JSON string that contains the text, quotes included. */
  readonly literal: Span;
  /** Offset in the decoded string; 0 if the text is the whole string, or lies in a JSON string nested in it. */
  readonly start: number;
  /** Whether the text is the whole decoded string. */
  readonly entire: boolean;
  /** Position in its message. */
  readonly place: TextPlace;
  /** Turns edits of the text into edits of the decoded string. */
  readonly lift: (edits: readonly Edit[]) => Edit[];
  readonly job: Job;
  /**
   * Reason to keep the text whole regardless of its content: `exempt`, `recovered`, `input_too_large`, `pinned`,
   * `past`.
   */
  readonly skip: string;
  /** Marker format when the text was first sent. Default: the current settings. */
  readonly render?: RenderOptions;
  /** Prune ids in the text's markers; `SHORT_ID`, at most once, stands for all markers without an id. */
  readonly markerIds: readonly string[];
  /** Hashes of the enclosing JSON texts, outermost first. */
  readonly around: readonly string[];
  /** The result as the conversation remembers it; absent in users' messages, and while the history is not in the request. */
  readonly shown?: ShownEntry;
  /** Its lines, if they were read; `null` or absent if not. */
  readonly lines?: LineHashes | null;
  /**
   * Lines that shell commands recovered before this text; absent if there are none, or if the text stays whole anyway.
   */
  readonly recovered?: readonly RecoveredLines[];
  /** See `Conversation`; absent if no warning is due. */
  readonly warnsSince?: number | undefined;
}

/** Recorded tool names are truncated to this length. */
const MAX_NAME = 200;
/** Maximum depth for reading JSON nested in JSON strings. */
const MAX_NESTING = 3;

/** A result with the context needed to decide about its texts. */
export interface ResultInContext {
  readonly call: ToolCall | undefined;
  readonly facts: CallFacts;
  readonly tool: string;
  readonly goal: string;
  readonly recovery: boolean;
  readonly way: RecoveryHint;
  /** Lines that shell commands have recovered so far. */
  readonly recovered: readonly RecoveredLines[];
  /** See `Conversation`. */
  readonly warnsSince?: number | undefined;
}

/** Minimum length of any candidate, in characters. */
export function minChars({ minPruneChars, minOutputChars = minPruneChars }: FindSettings): number {
  return Math.min(minPruneChars, minOutputChars);
}

/** Minimum length of this candidate, in characters; lower for program output than for files. */
export function minCharsOf({ facts }: ResultInContext, settings: FindSettings): number {
  const { origin } = facts.hints;
  return origin === 'command' || origin === 'listing' || origin === 'search'
    ? minChars(settings)
    : settings.minPruneChars;
}

/** A JSON string, or a part of one, that is a tool result. */
interface Piece {
  readonly messageIndex: number;
  readonly literal: Span;
  /** Index of the string among the message's texts. */
  readonly index: number;
  /** Offset in the decoded string. */
  readonly start: number;
  readonly text: string;
  readonly entire: boolean;
}

/** A result that is too long to decode. It stays whole, and its text is unknown. */
export function unread(
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

export function textsOf(piece: Piece, result: ResultInContext, keepWhole: string, settings: FindSettings): FoundText[] {
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
    const job = text.length < settings.minPruneChars ? { small: true, ...whole } : whole;
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
      warnsSince: result.warnsSince,
      ...(result.recovered.length > 0 && skip === '' && { recovered: result.recovered }),
    };
  });
}

/** Whether a text is a `recover_text` result, in any wrapping: detected by the result's field names, escaped or not. */
export function containsRecovered(text: string): boolean {
  return text.includes('line_numbering') && text.includes('raw_text');
}

function withFrame(facts: CallFacts, text: string): Hints {
  const { head, tail } = frameOf(text);
  return { ...facts.hints, frameHead: head || undefined, frameTail: tail || undefined };
}

export function recoveryHint({ recovers }: Conversation): RecoveryHint {
  return recovers ? 'tool' : 'shell';
}

export function jobOf(
  text: string,
  goal: string,
  hints: Hints,
  tool: string,
  settings: FindSettings,
  way: RecoveryHint,
  keepWhole = '',
): Job {
  const { limits, reasonLanguage, recoverCommand } = settings;
  const base = {
    text,
    textHash: textHash(text),
    goal,
    hints,
    limits,
    tool: tool.slice(0, MAX_NAME),
    caller: 'proxy' as const,
    recoveryHint: way,
    reasonLanguage,
    recoverCommand: way === 'shell' ? recoverCommand : undefined,
  };
  return keepWhole === '' ? base : { keepWhole, ...base };
}

/** A candidate in a result: the result itself, or a long string in its JSON. */
interface InnerText extends Pick<FoundText, 'around' | 'lift'>, Pick<TextPlace, 'json'> {
  readonly text: string;
}

/** Candidates in a result: the result itself or, if it is JSON, the long strings in it, recursively. */
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

/** A text in a user message. */
export interface UserText {
  /** Index among the message's texts. */
  readonly index: number;
  readonly literal: Span;
  readonly text: string;
  /** Files in the text, without the frames around them, in order. */
  readonly files: readonly { readonly start: number; readonly end: number; readonly path: string }[];
  /** The tool result, if the agent sends tool results as user messages. Such a text contains no user words. */
  readonly result: TextResult | null;
  /** The user's own words in the text. */
  readonly words: string;
}

/** Path of the file that a text announces as the next part of the message, or `''`. */
function announcedFile(text: string): string {
  const end = text.slice(-600).trimEnd();
  return end.endsWith(':') ? (/(?:^|\n)Content (?:from|of) @?(\S{1,500}?):$/.exec(end)?.[1] ?? '') : '';
}

/**
 * Splits a user's message into words, files and results.
 *
 * @param said - the model's preceding text, if it made no native tool call
 */
export function userTexts(texts: BodyTexts, message: ScannedMessage, said = ''): UserText[] {
  let announced = '';
  let header = '';
  return message.texts.flatMap(({ literal, use, name }, index): UserText[] => {
    if ((use !== 'words' && use !== 'document') || isTooLong(literal)) return [];
    const text = texts.at(literal);
    if (text === null) return [];
    const own = { index, literal, text, result: null };
    if (use === 'document' || announced !== '') {
      // the previous part announced this part as a file
      const files = [{ start: 0, end: text.length, path: name || announced }];
      announced = '';
      return [{ ...own, files, words: '' }];
    }
    announced = announcedFile(text);
    const blocks = findFileBlocks(text);
    const files = blocks.filter(({ pasted }) => !pasted).map(({ start, end, path }) => ({ start, end, path }));
    const result = textResult(text, said, header);
    header = announcesResult(text) ? text : '';
    if (header !== '') return [{ ...own, files, words: '' }];
    return [{ ...own, files, result, words: result?.words ?? ownWords(text, blocks) }];
  });
}
