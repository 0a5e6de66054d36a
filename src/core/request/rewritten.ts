import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import type { Conversation } from '../../wires/goal/conversation.ts';
import type { Span } from '../../wires/json/cursor.ts';
import { type Binding, recordsWholeMessages } from './policy.ts';
import type { BodyEdit, TextOutcome } from './prefix-memo.ts';
import { tailOf } from './read.ts';
import type { PersistedRequest, ReadRequest } from './request.ts';
import { applyToBody } from './splice.ts';

/** A request after pruning. If nothing was cut, `body` is the received Buffer itself. */
export interface RewrittenRequest {
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  readonly binding: Binding;
  /** Whether the provider stores the history, or is requested to. */
  readonly isKept: boolean;
  readonly messages: readonly ScannedMessage[];
  /** For each message, a hash over the meanings of all messages up to it, without instructions (`prefixesOf`). */
  readonly prefixes: readonly string[];
  /** Keys that identify later requests of the conversation if the provider refuses this one. */
  readonly refusalKeys: readonly string[];
  /** See `ReadBody`. */
  readonly conversationId: string;
  readonly shownId: string;
  /** The provider refused a pruned request of this conversation before, so it is forwarded unchanged. */
  readonly refusedBefore: boolean;
  /**
   * The provider accepted cuts of this conversation before, so that a refusal is not answered by resending the request
   * unpruned.
   */
  readonly acceptedBefore: boolean;
  /** Large answered texts are forwarded whole, although no record shows how they were sent before. */
  readonly rawHistory: boolean;
  /** Prefixes of these messages. They are recorded as whole once the provider accepts the request. */
  readonly rawPrefixes: readonly string[];
  /** The conversation so far, for an answer that the provider stores. */
  readonly conversation: Conversation;
  /** Outcomes of all large texts, including earlier messages. */
  readonly outcomes: readonly TextOutcome[];
  /** Outcomes from this index on are new in this request. */
  readonly newFrom: number;
  /** Codes of failures and of exceeded limits. */
  readonly fallbacks: readonly string[];
  /** The received body, and the edits to it. */
  readonly received: Buffer;
  readonly edits: readonly BodyEdit[];
  /** Positions in `received` of the tools and of the instructions outside the messages. */
  readonly outside: readonly Span[];
  /** The conversation belongs to the control group, which is not pruned. */
  readonly heldOut: boolean;
  /** Cuts in tool descriptions. Not included in `edits`. */
  readonly toolEdits: readonly BodyEdit[];
  /** It is the first request of its conversation. */
  readonly begins: boolean;
  /** Id of the stored answer that it continues, or `''`. */
  readonly previous: string;
}

/** The outcome of a request. */
export function rewritten(
  { request, spliced }: Pick<PersistedRequest, 'request' | 'spliced'>,
  fallbacks: readonly string[],
  toolEdits: readonly BodyEdit[] = [],
): RewrittenRequest {
  const { read, known, found } = request;
  const { stream, messages, thread, previous } = read.scanned;
  // replayed texts come first, because they are older than new ones
  const replayed = found.findLastIndex((text) => known.sent.has(text)) + 1;
  return {
    body: toolEdits.length > 0 ? withTools(request.body, spliced.edits, toolEdits) : spliced.body,
    model: read.model,
    stream,
    binding: request.binding,
    isKept: request.dialect.keepsHistory === 'items' || thread || previous !== '',
    messages,
    prefixes: read.prefixes,
    refusalKeys: refusalKeysOf(read),
    conversationId: read.conversationId,
    shownId: read.shownId,
    conversation: read.conversation,
    refusedBefore: false,
    acceptedBefore: wasAccepted(request) || (toolEdits.length > 0 && !read.begins),
    rawHistory: hasRawHistory(request),
    rawPrefixes: recordsWholeMessages(request) ? known.rawHistory.flatMap((index) => read.prefixes[index] ?? []) : [],
    outcomes: spliced.outcomes,
    newFrom: read.outcomesBefore.length + replayed,
    fallbacks,
    received: request.body,
    edits: spliced.edits,
    outside: read.scanned.outside,
    heldOut: false,
    toolEdits,
    begins: read.begins,
    previous,
  };
}

function withTools(body: Buffer, texts: readonly BodyEdit[], tools: readonly BodyEdit[]): Buffer {
  return applyToBody(
    body,
    [...texts, ...tools].toSorted((a, b) => a.start - b.start),
  );
}

/** Keys of the last message of a request: its prefix and its second keys. */
function refusalKeysOf({ prefixes, secondKeys }: ReadRequest['read']): string[] {
  const last = prefixes.at(-1);
  return last === undefined
    ? []
    : [last, ...(secondKeys.get(last) ?? []).flatMap(({ key, isOfOthers }) => (isOfOthers ? [] : key))];
}

/** The outcome of a request that is forwarded unchanged. */
export function unchangedRequest(request: ReadRequest): RewrittenRequest {
  const { body, read, known } = request;
  const nothing = { ...read, editsBefore: [], outcomesBefore: [] };
  const untouched = { ...request, read: nothing, known: { ...known, sent: new Map() }, found: [] };
  const spliced = { body, edits: [], outcomes: [], counts: [] };
  return rewritten({ request: untouched, spliced }, []);
}

/** The outcome of a request whose conversation was refused before. */
export function refusedRequest(request: ReadRequest): RewrittenRequest {
  return { ...unchangedRequest(request), refusedBefore: true };
}

/** The outcome of a request in the control group. */
export function controlGroupRequest(request: ReadRequest): RewrittenRequest {
  return { ...unchangedRequest(request), heldOut: true };
}

/** Whether answered texts are forwarded whole although no record shows how they were sent before. */
export function hasRawHistory({ read: { match }, known: { rawHistory } }: ReadRequest): boolean {
  return rawHistory.length > 0 || match?.body.rawHistory === true;
}

/** Prefixes of unanswered messages with cuts. */
export function newCutPrefixes(request: RewrittenRequest): string[] {
  const { outcomes, prefixes, messages } = request;
  const tail = tailOf(messages);
  const cut = new Set<number>();
  for (let i = outcomes.length - 1; i >= 0; i--) {
    const outcome = outcomes[i];
    if (!outcome || outcome.messageIndex < tail) break; // outcomes are in message order
    if (outcome.pruneId !== null) cut.add(outcome.messageIndex);
  }
  return [...cut].reverse().flatMap((index) => prefixes[index] ?? []);
}

/** Whether a model answer follows a message with cuts, which proves that the provider accepted them. */
function wasAccepted({ read: { outcomesBefore, tail }, known: { sent, cutsAccepted } }: ReadRequest): boolean {
  return (
    cutsAccepted ||
    hasCutBefore(outcomesBefore, tail) ||
    [...sent.keys()].some(({ messageIndex }) => messageIndex < tail)
  );
}

function hasCutBefore(outcomes: readonly TextOutcome[], tail: number): boolean {
  for (const { pruneId, messageIndex } of outcomes) if (pruneId !== null && messageIndex < tail) return true;
  return false;
}

/** The bytes of a request before its first and after its last message; short in any conversation. */
export function outsideMessages({
  received,
  messages,
}: Pick<RewrittenRequest, 'received' | 'messages'>): readonly Buffer[] {
  const [first, last] = [messages[0]?.span, messages.at(-1)?.span];
  return first && last ? [received.subarray(0, first.start), received.subarray(last.end)] : [received];
}
