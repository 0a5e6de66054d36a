import { crc32 } from 'node:zlib';
import { READ_AGAIN } from '../../core/decide/decision.ts';
import { keyOf } from '../../core/hash.ts';
import type { Arm } from '../../core/ports/ledger.ts';
import type {
  RegretFacts,
  ReportedUsage,
  RequestFacts,
  TextFacts,
  UnexaminedFacts,
} from '../../core/ports/request-facts.ts';
import { checksumsOf } from '../../core/request/head-sums.ts';
import { outcomesFrom, type TextOutcome } from '../../core/request/prefix-memo.ts';
import { tailOf } from '../../core/request/read.ts';
import { outsideMessages, type RewrittenRequest } from '../../core/request/rewritten.ts';
import type { ProviderUsage } from '../../wires/dialects/dialect.ts';
import { freshOf, messagesOf, shellRecoveries, workOf } from './message-facts.ts';
import { quotedCuts } from './quoted-cuts.ts';
import { smallResults, unexaminedReason } from './request-report.ts';

/** Ledger facts that are not part of the rewritten request. */
export interface Circumstances {
  readonly requestId: string;
  readonly project: string;
  readonly wire: string;
  readonly cloud?: string | undefined;
  /** The original bytes were forwarded. */
  readonly forwardedOriginal: boolean;
  /** Pruning was switched off for the request. */
  readonly isOff?: boolean;
  /** Model for wires that name it in the path. Default: the body's model. */
  readonly model?: string | undefined;
  /** Id of the access key; absent without keys. */
  readonly keyId?: string | undefined;
  /** Product name and version of the user agent. */
  readonly client?: string | undefined;
  /** Hash of the request's provider key; absent if unknown. */
  readonly caller?: string;
}

const CACHE_CONTROL = '"cache_control"';
/** Length of a lineage hash, long enough to avoid collisions. */
const LINEAGE_CHARS = 24;
/** Recorded model names are truncated to this length. */
const MAX_MODEL_CHARS = 200;

/** Extracts a request's ledger facts while its bytes are available. Retains none of the bytes. */
export function factsOf(rewritten: RewrittenRequest, about: Circumstances): RequestFacts {
  const { forwardedOriginal, isOff = false } = about;
  const reason = isOff ? 'off' : unexaminedReason(rewritten);
  const { received, body, outcomes, heldOut } = rewritten;
  const tail = tailOf(rewritten.messages);
  const messages = messagesOf(rewritten, forwardedOriginal);
  const unsure = mayBeNewFrom(rewritten, tail);
  const arm: Arm = heldOut ? 'control' : 'pruned';
  const { tools, system, summary } = checksumsOf(rewritten);
  const { caller = '', project, wire } = about;
  const fresh = freshOf(rewritten, tail, forwardedOriginal);
  const { cacheUpTo, cacheHourUpTo } = cachePlaces(rewritten, wire);
  return {
    requestId: about.requestId,
    atMs: 0,
    usage: null,
    answerTokens: undefined,
    project: about.project,
    wire: about.wire,
    cloud: about.cloud,
    keyId: about.keyId,
    client: about.client,
    conversationId: rewritten.shownId,
    model: rewritten.model.slice(0, MAX_MODEL_CHARS),
    arm,
    tools,
    system,
    summary,
    messages,
    bytes: forwardedOriginal ? received.length : body.length,
    cacheUpTo,
    cacheHourUpTo,
    retentionHours: wire === 'messages' ? undefined : retentionHoursOf(rewritten),
    texts: outcomes
      .slice(unsure)
      .filter(({ tokensBefore }) => tokensBefore > 0)
      .map((outcome) => textFacts(outcome, forwardedOriginal, reason)),
    unexamined: unexaminedIn(rewritten, reason),
    regrets: forwardedOriginal
      ? []
      : [...rereads(outcomes, unsure), ...quotedCuts(rewritten), ...shellRecoveries(rewritten, tail)],
    lineage: caller === '' ? '' : keyOf(project, caller, wire, rewritten.model, tools, system).slice(0, LINEAGE_CHARS),
    newest: [newestOf(rewritten)],
    summarised: isSummary(rewritten) || undefined,
    fresh,
    work: workOf(rewritten, fresh.answerFrom ?? tail),
  };
}

/** Facts of another request with the same body. Written out, because a spread of so many fields is slow. */
export function againFacts(facts: RequestFacts, requestId: string, conversationId: string): RequestFacts {
  return {
    requestId,
    atMs: 0,
    usage: null,
    answerTokens: undefined,
    project: facts.project,
    wire: facts.wire,
    cloud: facts.cloud,
    keyId: facts.keyId,
    client: facts.client,
    conversationId,
    model: facts.model,
    arm: facts.arm,
    tools: facts.tools,
    system: facts.system,
    summary: facts.summary,
    messages: facts.messages,
    bytes: facts.bytes,
    cacheUpTo: facts.cacheUpTo,
    cacheHourUpTo: facts.cacheHourUpTo,
    retentionHours: facts.retentionHours,
    texts: facts.texts,
    unexamined: facts.unexamined,
    regrets: facts.regrets,
    lineage: facts.lineage,
    newest: facts.newest,
    summarised: facts.summarised,
    fresh: facts.fresh,
    work: facts.work,
  };
}

/**
 * Facts of a request that was forwarded unpruned: savings are negated, so that the counterfactual bill is the pruned
 * one.
 */
export function unprunedFacts(
  rewritten: RewrittenRequest,
  about: Omit<Circumstances, 'forwardedOriginal'>,
): RequestFacts {
  const pruned = factsOf(rewritten, { ...about, forwardedOriginal: false });
  const whole = factsOf(rewritten, { ...about, forwardedOriginal: true });
  const messages = whole.messages.map((message, i) => {
    return { ...message, removed: -(pruned.messages[i]?.removed ?? 0) };
  });
  return { ...whole, messages, texts: pruned.texts };
}

/**
 * Facts of a request in which a summary stands for the first messages: cuts in those save nothing any more.
 *
 * @param bytes - size of the forwarded body
 */
export function withoutReplaced(facts: RequestFacts, replaced: number, bytes: number): RequestFacts {
  const behind = (at: number): number => Math.max(0, at - replaced);
  const { messages, cacheUpTo, cacheHourUpTo, unexamined, fresh, work } = facts;
  const moved = <T extends { readonly message?: number }>(all: readonly T[]): T[] =>
    all.flatMap((one) =>
      one.message === undefined ? one : one.message < replaced ? [] : { ...one, message: one.message - replaced },
    );
  return {
    ...facts,
    bytes,
    messages: messages.slice(replaced),
    cacheUpTo: cacheUpTo === null ? null : behind(cacheUpTo),
    cacheHourUpTo: cacheHourUpTo == null ? cacheHourUpTo : behind(cacheHourUpTo),
    texts: moved(facts.texts),
    unexamined: unexamined && {
      reason: unexamined.reason,
      messages: unexamined.messages.flatMap((at) => (at < replaced ? [] : at - replaced)),
    },
    regrets: moved(facts.regrets),
    fresh: {
      ...fresh,
      from: behind(fresh.from),
      ...(fresh.answerFrom !== undefined && { answerFrom: behind(fresh.answerFrom) }),
    },
    ...(work !== undefined && { work: { ...work, since: behind(work.since) } }),
  };
}

/** Facts of a request that was forwarded unread. It belongs to no conversation. */
export function factsOfUnread(about: Omit<Circumstances, 'forwardedOriginal'>, bytes: number): RequestFacts {
  const { requestId, project, wire, cloud, keyId, client, model = '' } = about;
  return {
    ...{ requestId, project, wire, cloud, keyId, client, conversationId: '', arm: 'pruned' },
    ...{ model: model.slice(0, MAX_MODEL_CHARS), tools: '', system: '', messages: [], bytes, cacheUpTo: null },
    ...{ texts: [], regrets: [], fresh: { from: 0, tokens: 0 }, atMs: 0, usage: null, answerTokens: undefined },
  };
}

/** Facts of a request in shadow mode, which was forwarded unpruned. */
export function shadowFacts(
  rewritten: RewrittenRequest,
  about: Omit<Circumstances, 'forwardedOriginal'>,
): RequestFacts {
  const { outcomes } = rewritten;
  const tail = tailOf(rewritten.messages);
  // shadow mode remembers nothing between requests, so texts before the last answer are not new
  const seen = outcomes.filter(({ messageIndex }) => messageIndex < tail).length;
  const facts = unprunedFacts({ ...rewritten, newFrom: seen }, about);
  const texts = facts.texts.map((text) => {
    return { ...text, cut: false, whole: text.whole ?? 'shadow', tokensAfter: text.tokensBefore };
  });
  return { ...facts, texts, shadow: true };
}

/** Completes the facts of a finished request. Mutates the object, because copying so many fields is slow. */
export function endedFacts(
  facts: RequestFacts,
  atMs: number,
  usage: ProviderUsage | null,
  answerTokens?: number,
): RequestFacts {
  const tokens = usage?.completionTokens ?? answerTokens;
  return Object.assign(facts, { atMs, usage: usageFacts(usage), answerTokens: tokens });
}

/** The provider's reported usage in the ledger's form; `null` without a report. */
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
    besides: usage.besides,
    served: usage.served,
    searches: usage.searches,
    cost: usage.cost,
  };
}

/** Reads OpenAI's `prompt_cache_options.ttl` and `prompt_cache_retention`, outside the messages. */
function retentionHoursOf(rewritten: RewrittenRequest): number | undefined {
  for (const bytes of outsideMessages(rewritten)) {
    const at = bytes.indexOf('"prompt_cache_');
    const hours = at < 0 ? null : RETENTION.exec(bytes.toString('latin1', at));
    if (hours) return Number(hours[1]);
  }
  return undefined;
}

const RETENTION =
  /"prompt_cache_(?:retention"\s{0,9}:\s{0,9}|options"\s{0,9}:\s{0,9}\{[^}]{0,200}"ttl"\s{0,9}:\s{0,9})"(\d{1,3})h"/;

/** Number of trailing messages in which clients set the last cache breakpoint; only these are searched. */
const LAST_MESSAGES = 4;

/** Number of messages before the client's last breakpoint of any lifetime, and of one hour. */
function cachePlaces(
  { received, messages }: RewrittenRequest,
  wire: string,
): Pick<RequestFacts, 'cacheUpTo' | 'cacheHourUpTo'> {
  if (wire !== 'messages') return { cacheUpTo: null }; // other wires cache automatically
  const from = messages.at(-LAST_MESSAGES)?.span.start ?? 0;
  const head = received.subarray(0, messages[0]?.span.start ?? 0);
  // a breakpoint after the messages covers all of them
  const placeOf = (at: number): number => messages.findLastIndex(({ span }) => span.start <= from + at) + 1;
  const last = breakpoints(received.subarray(from), placeOf);
  const first = breakpoints(head, () => 0);
  return { cacheUpTo: last.any ?? first.any, cacheHourUpTo: last.hour ?? first.hour };
}

/**
 * Positions (`placeOf`) of the last breakpoint in some bytes, and of the last one with a one-hour lifetime; `null`
 * without any.
 */
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

/** Maximum length of a recognised `"cache_control": {…}`. */
const BREAKPOINT_BYTES = 120;
const ONE_HOUR = /"ttl"\s*:\s*"1h"/;

/** @param unexamined - why no text of the request was examined, or `''` */
function textFacts(outcome: TextOutcome, isWhole: boolean, unexamined: string): TextFacts {
  const { tool, kind, pruneId, tokensBefore, tokensAfter, lines, keptLines } = outcome;
  const cut = pruneId !== null && !isWhole;
  const message = outcome.messageIndex;
  const linesCut = isWhole ? 0 : lines - keptLines;
  // a cut that was not sent was refused by the provider
  const whole = cut ? undefined : unexamined || outcome.whole || 'left_alone';
  return { tool, kind, cut, whole, tokensBefore, tokensAfter: isWhole ? tokensBefore : tokensAfter, linesCut, message };
}

function unexaminedIn(rewritten: RewrittenRequest, reason: string): UnexaminedFacts | undefined {
  const messages = smallResults(rewritten);
  return messages.length === 0 ? undefined : { reason: reason || 'small', messages };
}

/** Results repeated after their first occurrence was pruned, because the agent requested the removed lines again. */
function rereads(outcomes: readonly TextOutcome[], newFrom: number): RegretFacts[] {
  return outcomes.slice(newFrom).flatMap(({ whole, tool, kind, lines, tokensBefore, messageIndex: message }, i) => {
    if (whole !== 'reread' && whole !== READ_AGAIN) return [];
    const before = outcomes.slice(0, newFrom + i);
    const first = before.find((one) => one.pruneId !== null && one.tool === tool && one.lines === lines);
    if (!first?.pruneId) return [];
    const of = { tool, kind: first.kind || kind, pruneId: first.pruneId, message };
    return [{ how: 'reread' as const, tokens: tokensBefore, ...of }];
  });
}

/**
 * Index of the first text that may be new, because it is unknown to this process or no model answer follows it. The
 * ledger ignores texts that turn out not to be new; `newTextsFrom` in `request-report.ts` requires both conditions.
 */
function mayBeNewFrom({ outcomes, newFrom }: RewrittenRequest, tail: number): number {
  return Math.min(newFrom, outcomesFrom(outcomes, tail));
}

/** Bytes at either end of a message that identify it, together with its length. */
const END_BYTES = 2_048;

/** Identifies the last message as received, ignoring cache breakpoints. */
function newestOf({ received, messages }: RewrittenRequest): string {
  const { start, end } = messages.at(-1)?.span ?? { start: 0, end: 0 };
  const bytes = received.subarray(start, end);
  const at = bytes.lastIndexOf(CACHE_CONTROL);
  const length = at < 0 ? bytes.length : at;
  const first = crc32(bytes.subarray(0, Math.min(length, END_BYTES)));
  return crc32(bytes.subarray(Math.max(0, length - END_BYTES), length), first).toString(36);
}

/** Matches the introduction of a client's summary of the conversation that it continues. */
const SUMMARY =
  /<(?:summary|state_snapshot|conversation_summary|context_summary)>|continued from a previous conversation|produced a summary of its|summary of (?:the |our |this |my |all )?(?:conversation|session|chat|work|progress|previous|earlier|what|context|history)|(?:conversation|session|history|context) (?:was|has been|is) (?:compacted|summari[sz]ed)|(?:conversation|session) so far|"(?:[#*]{1,4} ?)?summary(?:[#*:]|\\n)/i;
const SUMMARY_BYTES = 4_096;

/** Later requests have more messages than this, and are not searched for a summary. */
const FIRST_MESSAGES = 4;

/** Whether a conversation begins with a user message that summarises another one. */
function isSummary({ received, messages }: RewrittenRequest): boolean {
  if (messages.length > FIRST_MESSAGES) return false;
  const first = messages.find(({ role }) => role === 'user');
  if (!first) return false;
  const { start, end } = first.span;
  return SUMMARY.test(received.toString('latin1', start, Math.min(end, start + SUMMARY_BYTES)));
}
