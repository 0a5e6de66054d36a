import type { ScannedMessage } from '../../dialects/dialect.ts';
import type { Conversation } from '../../goal/conversation.ts';
import type { Span } from '../../json/cursor.ts';
import type { BodyEdit, TextOutcome } from './prefix-memo.ts';
import type { PreparedRequest } from './prepare-request.ts';
import { tailOf } from './read-request.ts';
import type { Spliced } from './splice.ts';

/** A request after pruning. `body` is the very Buffer that came in when nothing was cut. */
export interface Rewritten {
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScannedMessage[];
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
  /** What later requests of the conversation are known by, should this one be refused. */
  readonly refusalKeys: readonly string[];
  /** Stands for the conversation: a hash of how it begins. */
  readonly conversationId: string;
  /** An upstream refused a pruned request of this conversation before: all of it goes as it came. */
  readonly refusedBefore: boolean;
  /** An upstream took cuts of this conversation before: the whole request is no way out of a refusal any more. */
  readonly acceptedBefore: boolean;
  /** What was answered before holds large texts, went as it came, and nothing says whether that is how it was sent. */
  readonly rawPast: boolean;
  /** What stands for each of the messages that this is so of, as far as it is to be noted. */
  readonly rawPrefixes: readonly string[];
  /** What was said so far, for an answer that the provider keeps. */
  readonly conversation: Conversation;
  /** Every text that was large enough, also those of messages seen before. */
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** Codes of what could not be done: a backend that failed, a budget that was not kept. */
  readonly fallbacks: readonly string[];
  /** The body as it came, and what was put in place of parts of it. */
  readonly received: Buffer;
  readonly edits: readonly BodyEdit[];
  /** Of `received`: tools and instructions beside the messages. */
  readonly beside: readonly Span[];
  /** The conversation is one of those that are left whole, to compare the others with. */
  readonly heldOut: boolean;
}

/** What became of a request; `result` is of it. */
export function rewritten(prepared: PreparedRequest, result: Spliced, fallbacks: readonly string[]): Rewritten {
  const { read, known, found } = prepared;
  const { model, stream, messages } = read.scanned;
  // what was sent before stands first, for it is older than what is new
  const replayed = found.findLastIndex((text) => known.sent.has(text)) + 1;
  return {
    body: result.body,
    model,
    stream,
    messages,
    prefixes: read.prefixes,
    refusalKeys: refusalKeysOf(read),
    conversationId: read.conversationId,
    conversation: read.conversation,
    refusedBefore: false,
    acceptedBefore: wasAccepted(prepared),
    rawPast: hasRawPast(prepared),
    rawPrefixes: prepared.bound ? known.rawPast.flatMap((index) => read.prefixes[index] ?? []) : [],
    outcomes: result.outcomes,
    newFrom: read.outcomesBefore.length + replayed,
    fallbacks,
    received: prepared.body,
    edits: result.edits,
    beside: read.scanned.beside,
    heldOut: false,
  };
}

/** The last message of a request, by all that stands before it and, where it is a result, by its call. */
function refusalKeysOf({ prefixes, resultKeys }: PreparedRequest['read']): string[] {
  const last = prefixes.at(-1);
  return last === undefined ? [] : [last, resultKeys.get(last)].filter((key) => key !== undefined);
}

/** The request of a conversation that goes as it came. */
export function leftAlone(prepared: PreparedRequest): Rewritten {
  const { body, read, known } = prepared;
  const nothing = { ...read, editsBefore: [], outcomesBefore: [] };
  const untouched = { ...prepared, read: nothing, known: { ...known, sent: new Map() }, found: [] };
  const unchanged = { body, edits: [], outcomes: [], counts: [] };
  return { ...rewritten(untouched, unchanged, []), refusedBefore: true };
}

/** The request of a conversation that is left whole for comparison. */
export function heldOut(prepared: PreparedRequest): Rewritten {
  return { ...leftAlone(prepared), refusedBefore: false, heldOut: true };
}

/** Whether something of the past went as it came, and nothing says whether it was sent so. */
export function hasRawPast({ read: { match }, known: { rawPast } }: PreparedRequest): boolean {
  return rawPast.length > 0 || match?.body.rawPast === true;
}

/** What stands for the messages in which something was cut, and which no answer stands behind. */
export function newCutPrefixes({ outcomes, prefixes, messages }: Rewritten): string[] {
  const tail = tailOf(messages);
  const cut = new Set<number>();
  for (let i = outcomes.length - 1; i >= 0; i--) {
    const outcome = outcomes[i];
    if (!outcome || outcome.messageIndex < tail) break; // they stand in the order of the messages
    if (outcome.pruneId !== null) cut.add(outcome.messageIndex);
  }
  return [...cut].reverse().flatMap((index) => prefixes[index] ?? []);
}

/** Whether the model answered something that was cut: then its provider took it. */
function wasAccepted({ read: { outcomesBefore, tail }, known: { sent, taken } }: PreparedRequest): boolean {
  return (
    taken ||
    outcomesBefore.some(({ pruneId, messageIndex }) => pruneId !== null && messageIndex < tail) ||
    [...sent.keys()].some(({ messageIndex }) => messageIndex < tail)
  );
}
