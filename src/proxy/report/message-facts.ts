import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import type { AddedMessages, HeadFacts, MessageFacts } from '../../core/ports/request-facts.ts';
import type { BodyEdit, TextOutcome } from '../../core/request/prefix-memo.ts';
import type { Rewritten } from '../../core/request/rewritten.ts';
import type { ShelvedTools } from '../../core/shelf/shelf.ts';
import type { ScannedMessage } from '../../dialects/dialect.ts';
import { addFeatures, noFeatures } from '../../engine/text/features.ts';

/** The messages of a conversation's newest request, with their facts. */
interface Remembered {
  readonly messages: readonly ScannedMessage[];
  readonly facts: readonly MessageFacts[];
}

/** Characters of a prefix hash: enough to avoid collisions. */
const PREFIX_CHARS = 12;
/** Conversations with cached message facts, for both their forwarded and original form. */
const remembered = new LRUCache<string, Remembered>({ max: 200 });

/**
 * Facts of a request's messages. Messages known from an earlier request are identical objects, and so are their edits
 * and facts.
 *
 * @param whole - it was forwarded unchanged
 */
export function messagesOf(rewritten: Rewritten, whole: boolean): readonly MessageFacts[] {
  const { messages, prefixes, conversationId } = rewritten;
  const id = `${whole} ${conversationId}`;
  const before = remembered.get(id);
  let same = 0;
  while (before && same < messages.length && messages[same] === before.messages[same]) same++;
  const facts = before ? before.facts.slice(0, same) : [];
  const edits = new Cursor(whole ? [] : rewritten.edits, messages[same]?.span.start ?? 0);
  const outcomes = whole ? [] : rewritten.outcomes;
  let outcomeAt = 0;
  for (let i = same; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) break;
    while ((outcomes[outcomeAt]?.messageIndex ?? i) < i) outcomeAt++;
    const from = outcomeAt;
    while (outcomes[outcomeAt]?.messageIndex === i) outcomeAt++;
    const own = { edits: edits.upTo(message.span.end), outcomes: outcomes.slice(from, outcomeAt) };
    facts.push(factsOf(rewritten.received, message, (prefixes[i] ?? '').slice(0, PREFIX_CHARS), own));
  }
  if (conversationId !== '') remembered.set(id, { messages, facts });
  return facts;
}

/** Edits in order, consumed message by message. */
class Cursor {
  readonly #edits: readonly BodyEdit[];
  #at = 0;

  constructor(edits: readonly BodyEdit[], from: number) {
    this.#edits = edits;
    this.upTo(from);
  }

  /** The next edits that begin before a position in the body. */
  upTo(end: number): readonly BodyEdit[] {
    const from = this.#at;
    while ((this.#edits[this.#at]?.start ?? end) < end) this.#at++;
    return this.#edits.slice(from, this.#at);
  }
}

function factsOf(
  body: Buffer,
  { span }: ScannedMessage,
  prefix: string,
  { edits, outcomes }: { readonly edits: readonly BodyEdit[]; readonly outcomes: readonly TextOutcome[] },
): MessageFacts {
  let bytes = span.end - span.start;
  let cuts = 0;
  let removed = 0;
  for (const outcome of outcomes) removed += outcome.tokensBefore - outcome.tokensAfter;
  const cut = noFeatures();
  for (const edit of edits) {
    bytes += edit.bytes.length - (edit.end - edit.start);
    cuts = (Math.imul(cuts, 31) + crc32(edit.bytes)) >>> 0;
    addFeatures(cut, body, [edit.start, edit.end]);
    addFeatures(cut, edit.bytes, [0, edit.bytes.length], { times: -1, marked: true });
  }
  const fact = { prefix, bytes, removed, cuts: cuts === 0 ? '' : cuts.toString(36) };
  return edits.length === 0 ? fact : { ...fact, cut: cut.join(' ') };
}

/** What was cut from descriptions of tools. */
export function headOf(body: Buffer, { edits, tokensSaved }: ShelvedTools): HeadFacts {
  let cuts = 0;
  const cut = noFeatures();
  for (const edit of edits) {
    cuts = (Math.imul(cuts, 31) + crc32(edit.bytes)) >>> 0;
    addFeatures(cut, body, [edit.start, edit.end]);
    addFeatures(cut, edit.bytes, [0, edit.bytes.length], { times: -1, marked: true });
  }
  return { removed: tokensSaved, cuts: cuts.toString(36), cut: cut.join(' ') };
}

/** The features of a cut with the opposite sign. */
export function negated(cut: string): string {
  return cut
    .split(' ')
    .map((count) => -Number(count))
    .join(' ');
}

/** Earliest messages of a conversation whose texts are read as well. */
const FEW_MESSAGES = 3;
/** Keys that carry a model's hidden reasoning back to its provider, on all wires. */
const CARRIERS = [
  '"signature"',
  '"encrypted_content"',
  '"thoughtSignature"',
  '"reasoning_content"',
  '"reasoning_details"',
];

/** The type of an item with hidden reasoning on the Responses wire. */
const REASONING = '"reasoning"';

/** Whether a message is part of a model's answer: the Responses wire returns hidden reasoning as separate items. */
export function isAnswer({ messages, received }: Rewritten, index: number): boolean {
  const message = messages[index];
  if (message?.role !== 'other') return message?.role === 'assistant';
  const bytes = received.subarray(message.span.start, message.span.end);
  return bytes.includes(REASONING) && message.texts.length === 0;
}

/**
 * The messages from the model's last answer on.
 *
 * @param since - index of the first of them
 * @param whole - the request was forwarded unchanged
 */
export function addedIn(rewritten: Rewritten, since: number, whole: boolean): AddedMessages {
  const { messages, received, outside } = rewritten;
  const edits = new Cursor(whole ? [] : rewritten.edits, since < FEW_MESSAGES ? 0 : (messages[since]?.span.start ?? 0));
  const [said, texts, before] = [noFeatures(), noFeatures(), noFeatures()];
  let carriesThoughts = false;
  for (let i = since < FEW_MESSAGES ? 0 : since; i < messages.length; i++) {
    const message = messages[i];
    if (message === undefined) break;
    const isSaid = isAnswer(rewritten, i);
    addMessage(i < since ? before : isSaid ? said : texts, received, message, edits.upTo(message.span.end));
    const bytes = received.subarray(message.span.start, isSaid ? message.span.end : message.span.start);
    carriesThoughts ||= CARRIERS.some((key) => bytes.includes(key));
  }
  const added = { since, messages: messages.length - since, said, texts, carriesThoughts };
  if (since >= FEW_MESSAGES) return added;
  for (const { start, end } of outside) addFeatures(before, received, [start, end]);
  for (const edit of whole ? [] : (rewritten.shelved?.edits ?? [])) {
    addFeatures(before, received, [edit.start, edit.end], { times: -1 });
    addFeatures(before, edit.bytes, [0, edit.bytes.length], { marked: true });
  }
  return { ...added, before };
}

/** Adds the features of a message as forwarded. */
function addMessage(into: number[], body: Buffer, { texts, calls }: ScannedMessage, edits: readonly BodyEdit[]): void {
  for (const { literal } of texts) {
    const edit = edits.find(({ start }) => start >= literal.start && start < literal.end);
    if (edit) addFeatures(into, edit.bytes, [0, edit.bytes.length], { marked: true });
    else addFeatures(into, body, [literal.start + 1, literal.end - 1]);
  }
  for (const { name, args } of calls) {
    const bytes = Buffer.from(name);
    addFeatures(into, bytes, [0, bytes.length]);
    if (args) addFeatures(into, body, [args.start, args.end]);
  }
}
