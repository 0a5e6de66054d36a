import { crc32 } from 'node:zlib';
import { keyOf } from '../../core/hash.ts';
import type {
  Arm,
  FreshFacts,
  MessageFacts,
  RegretFacts,
  ReportedUsage,
  RequestFacts,
  TextFacts,
} from '../../core/ports/ledger.ts';
import type { TextOutcome } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import type { Rewritten } from '../../core/request/rewritten.ts';
import type { ProviderUsage } from '../../dialects/dialect.ts';
import { addedIn, isAnswer, messagesOf, negated } from './message-facts.ts';
import { quotedCuts } from './quoted-cuts.ts';

/** What the ledger is told beside what the request itself says. */
export interface Circumstances {
  readonly requestId: string;
  readonly project: string;
  readonly wire: string;
  readonly cloud?: string | undefined;
  /** The bytes forwarded were those that came. */
  readonly forwardedOriginal: boolean;
  /** The model, on wires that name it in the path. Default: the body's. */
  readonly model?: string | undefined;
  /** Stands for the key that the request came with; absent where that is not known. */
  readonly caller?: string;
}

/** All that the ledger keeps of a request, but for when it ended and what was used. */
export type OpenFacts = Omit<RequestFacts, 'atMs' | 'usage' | 'counted'>;

const CACHE_CONTROL = '"cache_control"';
const BYTES_PER_TOKEN = 4;
/** Of the hash of a lineage: enough that two never agree by chance. */
const LINEAGE_CHARS = 24;
/** How much of a model's name is kept. */
const MAX_MODEL_CHARS = 200;

/** Reads a request for the ledger, while its bytes are there. Holds none of them. */
export function factsOf(rewritten: Rewritten, about: Circumstances): OpenFacts {
  const { forwardedOriginal } = about;
  const { received, body, outcomes, heldOut } = rewritten;
  const tail = tailOf(rewritten.messages);
  const messages = messagesOf(rewritten, forwardedOriginal);
  const unsure = mayBeNewFrom(rewritten, tail);
  const arm: Arm = heldOut ? 'control' : 'pruned';
  const { tools, system } = besideOf(rewritten);
  const { caller = '', project, wire } = about;
  return {
    requestId: about.requestId,
    project: about.project,
    wire: about.wire,
    cloud: about.cloud,
    conversationId: rewritten.conversationId,
    model: (about.model ?? rewritten.model).slice(0, MAX_MODEL_CHARS),
    arm,
    tools,
    system,
    messages,
    bytes: forwardedOriginal ? received.length : body.length,
    ...cachePlaces(rewritten, about.wire),
    texts: outcomes
      .slice(unsure)
      .filter(({ tokensBefore }) => tokensBefore > 0)
      .map((outcome) => textFacts(outcome, forwardedOriginal)),
    regrets: forwardedOriginal ? [] : [...rereads(outcomes, unsure), ...quotedCuts(rewritten)],
    lineage:
      caller === ''
        ? ''
        : keyOf(project, caller, wire, about.model ?? rewritten.model, tools, system).slice(0, LINEAGE_CHARS),
    newest: [newestOf(rewritten)],
    ...(isSummary(rewritten) && { summarised: true }),
    fresh: freshOf(rewritten, messages, tail, forwardedOriginal),
  };
}

/**
 * What the ledger is told of a request that went out whole: what would have been cut counts as removed from nothing, so the
 * twin bill is the pruned one.
 */
export function unprunedFacts(rewritten: Rewritten, about: Omit<Circumstances, 'forwardedOriginal'>): OpenFacts {
  const pruned = factsOf(rewritten, { ...about, forwardedOriginal: false });
  const whole = factsOf(rewritten, { ...about, forwardedOriginal: true });
  const messages = whole.messages.map((message, i) => {
    const { removed = 0, cut } = pruned.messages[i] ?? {};
    return { ...message, removed: -removed, ...(cut !== undefined && { cut: negated(cut) }) };
  });
  return { ...whole, messages, texts: pruned.texts };
}

/** Of a request that went out whole only to see what would have been cut. */
export function shadowFacts(rewritten: Rewritten, about: Omit<Circumstances, 'forwardedOriginal'>): OpenFacts {
  const { outcomes } = rewritten;
  const tail = tailOf(rewritten.messages);
  // nothing is remembered from request to request: what an answer stands behind was new before
  const seen = outcomes.filter(({ messageIndex }) => messageIndex < tail).length;
  const facts = unprunedFacts({ ...rewritten, newFrom: seen }, about);
  const texts = facts.texts.map((text) => ({ ...text, cut: false, tokensAfter: text.tokensBefore }));
  return { ...facts, texts, shadow: true };
}

/** The facts of a request that has ended. Written out: a field that is added behind a spread costs as much as ten others. */
export function endedFacts(open: OpenFacts, atMs: number, usage: ProviderUsage | null): RequestFacts {
  return {
    requestId: open.requestId,
    atMs,
    project: open.project,
    conversationId: open.conversationId,
    wire: open.wire,
    cloud: open.cloud,
    model: open.model,
    arm: open.arm,
    usage: usageFacts(usage),
    tools: open.tools,
    system: open.system,
    messages: open.messages,
    bytes: open.bytes,
    cacheUpTo: open.cacheUpTo,
    cacheHourUpTo: open.cacheHourUpTo ?? null,
    texts: open.texts,
    regrets: open.regrets,
    lineage: open.lineage ?? '',
    newest: open.newest ?? [],
    ...(open.summarised && { summarised: open.summarised }),
    ...(open.shadow && { shadow: open.shadow }),
    fresh: open.fresh,
  };
}

/** What a provider reports, as the ledger has it; `null` where it says nothing. */
export function usageFacts(usage: ProviderUsage | null): ReportedUsage | null {
  if (usage === null || usage.promptTokens === null) return null;
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens = null, cacheWrite1hTokens = null } = usage;
  const { reasoningTokens = null } = usage;
  return {
    input: promptTokens,
    output: completionTokens,
    read: cachedTokens,
    written: cacheWriteTokens,
    written1h: cacheWrite1hTokens,
    reasoning: reasoningTokens,
  };
}

/** Instructions at the beginning count as such, whichever wire has them among its messages. */
function besideOf({ received, beside, messages }: Rewritten): { tools: string; system: string } {
  let tools = 0;
  let system = 0;
  for (const { start, end } of beside) {
    const key = received.toString('latin1', Math.max(0, start - 20), start);
    const bytes = received.subarray(start, end);
    if (key.includes('tools"') || key.includes('functions"') || key.includes('toolConfig"'))
      tools = crc32(bytes, tools);
    else system = crc32(bytes, system);
  }
  for (const { role, span } of messages) {
    if (role !== 'other') break;
    system = crc32(received.subarray(span.start, span.end), system);
  }
  return { tools: tools.toString(36), system: system.toString(36) };
}

/** Messages at the end among which clients put the last place that is to be cached; the whole body is not searched. */
const LAST_MESSAGES = 4;

/** How many messages stand before the last breakpoints of the client: of either lifetime, and of an hour. */
function cachePlaces({ received, messages }: Rewritten, wire: string): Pick<OpenFacts, 'cacheUpTo' | 'cacheHourUpTo'> {
  if (wire !== 'messages') return { cacheUpTo: null }; // elsewhere the cache works by itself
  const from = messages.at(-LAST_MESSAGES)?.span.start ?? 0;
  const head = received.subarray(0, messages[0]?.span.start ?? 0);
  // a breakpoint behind the messages asks for all of them
  const placeOf = (at: number): number => messages.findLastIndex(({ span }) => span.start <= from + at) + 1;
  const last = breakpoints(received.subarray(from), placeOf);
  const first = breakpoints(head, () => 0);
  return { cacheUpTo: last.any ?? first.any, cacheHourUpTo: last.hour ?? first.hour };
}

/** The places of the last breakpoint in some bytes, and of the last one that lives for an hour; `null` where there is none. */
function breakpoints(
  bytes: Buffer,
  placeOf: (at: number) => number,
): { readonly any: number | null; readonly hour: number | null } {
  let any: number | null = null;
  for (
    let at = bytes.lastIndexOf(CACHE_CONTROL);
    at >= 0;
    at = at === 0 ? -1 : bytes.lastIndexOf(CACHE_CONTROL, at - 1)
  ) {
    any ??= placeOf(at);
    const behind = bytes.toString('latin1', at, at + BREAKPOINT_BYTES);
    if (ONE_HOUR.test(behind.slice(0, behind.indexOf('}') + 1))) return { any, hour: placeOf(at) };
  }
  return { any, hour: null };
}

/** Longest `"cache_control": {…}` that is read. */
const BREAKPOINT_BYTES = 120;
const ONE_HOUR = /"ttl"\s*:\s*"1h"/;

function textFacts(outcome: TextOutcome, whole: boolean): TextFacts {
  const { tool, kind, pruneId, tokensBefore, tokensAfter, boldness = 0 } = outcome;
  const cut = pruneId !== null && !whole;
  const message = outcome.messageIndex;
  return { tool, kind, cut, tokensBefore, tokensAfter: whole ? tokensBefore : tokensAfter, boldness, message };
}

/** Results that came a second time after the first one was cut: the agent asked again for what it had not been shown. */
function rereads(outcomes: readonly TextOutcome[], newFrom: number): RegretFacts[] {
  return outcomes.slice(newFrom).flatMap(({ whole, tool, kind, lines, tokensBefore, messageIndex: message }, i) => {
    if (whole !== 'reread') return [];
    const before = outcomes.slice(0, newFrom + i);
    const first = before.find((one) => one.pruneId !== null && one.tool === tool && one.lines === lines);
    if (!first?.pruneId) return [];
    const of = { tool, kind: first.kind || kind, pruneId: first.pruneId, boldness: first.boldness ?? 0, message };
    return [{ how: 'reread' as const, tokens: tokensBefore, ...of }];
  });
}

/** Of large texts the estimate is there, the rest is told by its bytes. @param whole - it went out as it came */
function freshOf(rewritten: Rewritten, messages: readonly MessageFacts[], from: number, whole: boolean): FreshFacts {
  const { outcomes } = rewritten;
  const judged = new Set<number>();
  let tokens = 0;
  for (const { messageIndex, tokensBefore, tokensAfter } of outcomes) {
    if (messageIndex < from || tokensBefore <= 0) continue;
    judged.add(messageIndex);
    tokens += whole ? tokensBefore : tokensAfter;
  }
  for (let i = from; i < messages.length; i++) {
    if (!judged.has(i)) tokens += (messages[i]?.bytes ?? 0) / BYTES_PER_TOKEN;
  }
  let answerFrom = from;
  while (answerFrom > 0 && isAnswer(rewritten, answerFrom - 1)) answerFrom--;
  return { from, answerFrom, tokens, added: addedIn(rewritten, answerFrom, whole) };
}

/** Index of the first text that may be new: this process does not know it, or no answer of the model's stands behind it. */
function mayBeNewFrom({ outcomes, newFrom }: Rewritten, tail: number): number {
  const behind = outcomes.findIndex(({ messageIndex }) => messageIndex >= tail);
  return behind < 0 ? newFrom : Math.min(newFrom, behind);
}

/** Bytes at both ends of a message that stand for it, with its length. */
const END_BYTES = 2_048;

/** Stands for the last message as it came; where the cache is to end is no part of it. */
function newestOf({ received, messages }: Rewritten): string {
  const { start, end } = messages.at(-1)?.span ?? { start: 0, end: 0 };
  const bytes = received.subarray(start, end);
  const at = bytes.lastIndexOf(CACHE_CONTROL);
  const length = at < 0 ? bytes.length : at;
  const first = crc32(bytes.subarray(0, Math.min(length, END_BYTES)));
  return crc32(bytes.subarray(Math.max(0, length - END_BYTES), length), first).toString(36);
}

/** How clients introduce the summary of a conversation that they go on from. */
const SUMMARY =
  /<(?:summary|state_snapshot|conversation_summary|context_summary)>|continued from a previous conversation|produced a summary of its|summary of (?:the |our |this |my |all )?(?:conversation|session|chat|work|progress|previous|earlier|what|context|history)|(?:conversation|session|history|context) (?:was|has been|is) (?:compacted|summari[sz]ed)|(?:conversation|session) so far/i;
const SUMMARY_BYTES = 4_096;

/** Messages of the first request of a conversation at most: a later one is not searched for a summary. */
const FIRST_MESSAGES = 4;

/** Whether a conversation begins with a message of the user's that carries the summary of another one. */
function isSummary({ received, messages }: Rewritten): boolean {
  if (messages.length > FIRST_MESSAGES) return false;
  const first = messages.find(({ role }) => role === 'user');
  if (!first) return false;
  const { start, end } = first.span;
  return SUMMARY.test(received.toString('latin1', start, Math.min(end, start + SUMMARY_BYTES)));
}
