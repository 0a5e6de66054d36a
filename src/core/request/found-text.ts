import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { Edit, RenderOptions } from '../../engine/text/render.ts';
import type { Dial, Hints, Limits } from '../../engine/types.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { encodeEdits, longJsonFields } from '../../wires/json/value.ts';
import type { RecoveredLines } from '../../wires/transcript/shell-recovery.ts';
import { frameOf } from '../../wires/transcript/text-results.ts';
import type { CallFacts, ToolCall } from '../../wires/transcript/tools.ts';
import type { Job, RecoveryHint } from '../decide/decision.ts';
import { markedIn } from '../decide/own-markers.ts';
import { textHash } from '../hash.ts';
import type { TextPlace } from '../ports/sent.ts';
import { shift } from '../sent/text-place.ts';

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

/** Maximum number of recorded characters of a tool's name. */
const MAX_NAME = 200;
/** Maximum depth of JSON nested in JSON strings that is read. */
const MAX_NESTING = 3;

/** The context in which the texts of one result are decided. */
export interface ResultInContext {
  readonly call: ToolCall | undefined;
  readonly facts: CallFacts;
  readonly tool: string;
  readonly goal: string;
  readonly recovery: boolean;
  readonly way: RecoveryHint;
  /** Lines that shell commands have given out up to here. */
  readonly recovered: readonly RecoveredLines[];
}

/** Minimum length of a text that may be a candidate, in characters. */
export function minChars({ minPruneChars, minOutputChars = minPruneChars }: FindSettings): number {
  return Math.min(minPruneChars, minOutputChars);
}

/** Minimum length of a candidate, in characters: smaller for program output than for a file. */
export function minCharsOf({ facts }: ResultInContext, settings: FindSettings): number {
  const { origin } = facts.hints;
  return origin === 'command' || origin === 'listing' || origin === 'search'
    ? minChars(settings)
    : settings.minPruneChars;
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
  return keepWhole === '' ? base : { keepWhole, ...base };
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
