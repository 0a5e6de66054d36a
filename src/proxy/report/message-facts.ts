import { crc32 } from 'node:zlib';
import { LRUCache } from 'lru-cache';
import { fittedToHeap } from '../../base/fitted-to-heap.ts';
import { REPEAT, WHOLE_CUTS } from '../../core/decide/decision.ts';
import type { FreshFacts, MessageFacts, RegretFacts, WorkFacts } from '../../core/ports/request-facts.ts';
import type { BodyEdit, TextOutcome } from '../../core/request/prefix-memo.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import { hasUserWords } from '../../core/request/user-signs.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { ScannedMessage } from '../../wires/dialects/dialect.ts';
import { decodeString } from '../../wires/json/cursor.ts';
import { isRecovery, shellRecovery } from '../../wires/transcript/shell-recovery.ts';

/** Messages of a conversation's newest request, with their facts. */
interface Remembered {
  readonly messages: readonly ScannedMessage[];
  readonly facts: readonly MessageFacts[];
}

/** Length of a prefix hash, long enough to avoid collisions. */
const PREFIX_CHARS = 12;
/** Maximum number of messages in all remembered conversations; each takes about 500 bytes. */
const MAX_MESSAGES = fittedToHeap(60_000);
/** Cached message facts of recent conversations, separately for the forwarded and the original form. */
const remembered = new LRUCache<string, Remembered>({
  maxSize: MAX_MESSAGES,
  sizeCalculation: ({ messages }) => 1 + messages.length,
});

/**
 * Facts of a request's messages. Messages known from an earlier request are identical objects, and so are their edits
 * and facts.
 *
 * @param whole - the request was forwarded unchanged
 */
export function messagesOf(rewritten: RewrittenRequest, whole: boolean): readonly MessageFacts[] {
  const { messages, prefixes, shownId } = rewritten;
  const id = `${whole} ${shownId}`;
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
    facts.push(messageFacts(message, (prefixes[i] ?? '').slice(0, PREFIX_CHARS), own));
  }
  if (shownId !== '') remembered.set(id, { messages, facts });
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

function messageFacts(
  { span }: ScannedMessage,
  prefix: string,
  { edits, outcomes }: { readonly edits: readonly BodyEdit[]; readonly outcomes: readonly TextOutcome[] },
): MessageFacts {
  let bytes = span.end - span.start;
  let cuts = 0;
  let [removed, aside, repeated] = [0, 0, 0];
  for (const { kind, tokensBefore, tokensAfter, tokensAside = 0 } of outcomes) {
    removed += tokensBefore - tokensAfter;
    aside += tokensAside;
    if (kind === REPEAT) repeated += tokensBefore - tokensAfter;
  }
  for (const edit of edits) {
    bytes += edit.bytes.length - (edit.end - edit.start);
    cuts = (Math.imul(cuts, 31) + crc32(edit.bytes)) >>> 0;
  }
  const isDirected = outcomes.some(({ kind, whole }) => WHOLE_CUTS.has(kind) || whole === 'pinned');
  const sum = cuts === 0 ? '' : cuts.toString(36);
  const part = { ...(aside > 0 && { aside }), ...(repeated > 0 && { repeated }) };
  return { prefix, bytes, removed, cuts: isDirected ? `*${sum}` : sum, ...part };
}

/** Field names under which hidden reasoning is sent back to the provider, on all wires. */
const CARRIERS = [
  '"signature"',
  '"encrypted_content"',
  '"thoughtSignature"',
  '"thought"',
  '"reasoning_content"',
  '"reasoning_details"',
];

/** Item type of hidden reasoning on the Responses wire. */
const REASONING = '"reasoning"';

/** Whether a message is part of a model answer. On the Responses wire, hidden reasoning is a separate item. */
function isByAssistant({ messages, received }: RewrittenRequest, index: number): boolean {
  const message = messages[index];
  if (message?.role !== 'other') return message?.role === 'assistant';
  const bytes = received.subarray(message.span.start, message.span.end);
  return bytes.includes(REASONING) && message.texts.length === 0;
}

/**
 * The part of a request after the model's last answer: estimated tokens as forwarded, and those of the answer itself.
 *
 * @param from - index of the first message after the answer
 * @param whole - the request was forwarded unchanged
 */
export function freshOf(rewritten: RewrittenRequest, from: number, whole: boolean): FreshFacts {
  const { messages, received } = rewritten;
  let answerFrom = from;
  while (answerFrom > 0 && isByAssistant(rewritten, answerFrom - 1)) answerFrom--;
  const edits = new Cursor(whole ? [] : rewritten.edits, messages[answerFrom]?.span.start ?? 0);
  let [said, tokens] = [0, 0];
  let carriesThoughts = false;
  for (const [i, message] of messages.slice(answerFrom).entries()) {
    const size = tokensIn(received, message, edits.upTo(message.span.end));
    if (answerFrom + i >= from) tokens += size;
    else {
      said += size;
      const bytes = received.subarray(message.span.start, message.span.end);
      carriesThoughts ||= CARRIERS.some((key) => bytes.includes(key));
    }
  }
  return { from, answerFrom, tokens, said, carriesThoughts };
}

const QUOTE = Buffer.from('"');

/** Estimated tokens of a message as forwarded. */
function tokensIn(body: Buffer, { texts, calls }: ScannedMessage, edits: readonly BodyEdit[]): number {
  let tokens = 0;
  for (const { literal, use } of texts) {
    if (use === 'thought') continue; // hidden reasoning is excluded, because the provider may drop it
    const edit = edits.find(({ start }) => start >= literal.start && start < literal.end);
    const quoted = edit ? Buffer.concat([QUOTE, edit.bytes, QUOTE]) : body.subarray(literal.start, literal.end);
    tokens += estimateTokens(decodeString(quoted, 0, quoted.length) ?? '');
  }
  for (const { name, args } of calls) {
    tokens += estimateTokens(name) + (args ? estimateTokens(body.toString('utf8', args.start, args.end)) : 0);
  }
  return tokens;
}

export function outcomeAt({ messages, outcomes }: RewrittenRequest, { start }: BodyEdit) {
  const index = messages.findIndex(({ span }) => span.start <= start && start < span.end);
  return outcomes.find(({ messageIndex, pruneId }) => messageIndex === index && pruneId !== null);
}

/** Matches the beginning of an output that reports a failed recovery. */
const NOT_RECOVERED =
  /^\W{0,9}(?:mcp-pruner: |.{0,80}(?:command not found|No such file|not recognized|npm (?:ERR|error)))/;

/** Regrets for lines recovered by shell commands from a message on. Originals of other conversations do not count. */
export function shellRecoveries(
  { received, messages, conversation, outcomes }: RewrittenRequest,
  since: number,
): RegretFacts[] {
  const regrets: RegretFacts[] = [];
  for (const [i, message] of messages.slice(since).entries()) {
    for (const { use, callId, name, literal } of message.texts) {
      const recovery = use === 'result' ? shellRecovery(conversation.callOf(callId, name)) : null;
      const lines = recovery?.lines.filter(({ pruneId }) => outcomes.some((one) => one.pruneId === pruneId)) ?? [];
      const output = lines.length > 0 ? (decodeString(received, literal.start, literal.end) ?? '') : '';
      if (output.trim() === '' || NOT_RECOVERED.test(output)) continue;
      const tokens = estimateTokens(output);
      for (const { pruneId, ranges } of lines) {
        const cut = outcomes.find((one) => one.pruneId === pruneId);
        if (!cut) continue;
        const { tool, kind, lines: all, tokensBefore } = cut;
        const count = ranges.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
        // the output may contain other lines too, and a filter may remove some of these
        const share = ranges.length === 0 ? 1 : Math.min(1, count / Math.max(1, all));
        const most = Math.round(Math.min(tokens / lines.length, share * tokensBefore));
        const recovered = { ranges: ranges.length, lines: count };
        regrets.push({ how: 'recovered', tool, kind, pruneId, tokens: most, message: since + i, recovered });
      }
    }
  }
  return regrets;
}

/**
 * Counts from the model's last answer on.
 *
 * @param since - index of the first message
 */
export function workOf({ messages, conversation }: RewrittenRequest, since: number): WorkFacts {
  let [userMessages, calls, recoveries] = [0, 0, 0];
  for (const message of messages.slice(since)) {
    if (message.role === 'user' && hasUserWords(message)) userMessages++;
    if (message.role !== 'assistant') continue;
    calls += message.calls.length;
    for (const { id, name } of message.calls) if (isRecovery(conversation.callOf(id, name))) recoveries++;
  }
  return { since, userMessages, calls, recoveries };
}
