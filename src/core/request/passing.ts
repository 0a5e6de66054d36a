import { run } from '../../base/work.ts';
import { storeFailure } from '../../errors/errors.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import { JsonShapeError } from '../../wires/json/cursor.ts';
import { BodyWalk } from '../../wires/json/walk.ts';
import type { HeadSums, RequestScope } from '../ports/segments.ts';
import { NO_DIRECTIVES } from '../segments/apply-directives.ts';
import { NO_HISTORY } from '../sent/history.ts';
import { containsResultOrWords, controlPrefix, MIN_BYTES, type SentMemory } from '../sent/records.ts';
import { segmentsOf } from './collect.ts';
import { minChars } from './found-text.ts';
import { bodyToRemember } from './persist.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import { always, PRUNE } from './policy.ts';
import { isOfSameClient, type PrefixMatch, type PrefixMemo, type RememberedBody } from './prefix-memo.ts';
import type { AcceptedCuts } from './provider-verdicts.ts';
import type { ReadStage } from './read.ts';
import { type IncomingRequest, NO_SCOPE, type ReadRequest, type StoreState } from './request.ts';
import { type RewrittenRequest, rewritten } from './rewritten.ts';
import { applyToBody } from './splice.ts';

/** A request in which nothing is to be decided. */
export interface Passed {
  /** The bytes to forward: the received Buffer itself if nothing was cut earlier. */
  readonly body: Buffer;
  /** Tokens saved by the repeated cuts. */
  readonly tokensSaved: number;
  readonly state: StoreState;
  /** The remembered body that it continues. */
  readonly match: PrefixMatch | null;
  /** The remembered body, if the request repeats it byte for byte. */
  readonly repeated: RememberedBody | null;
  /** Set if the request had to be parsed already. */
  readonly read: ReadRequest | null;
}

/** A request that has passed, after it was parsed. */
export interface Parsed {
  readonly rewritten: RewrittenRequest;
  /** The name of the conversation of another request with the same body. */
  readonly nameOf: (requestId: string) => string;
}

/** A request's texts have to be looked up, but not in a body so large that parsing it would delay others. */
const MAX_READ_BYTES = 256 * 1024;

const MARKER = Buffer.from('prune_id=prn_');
/** Field of a request whose history the provider keeps in a thread. */
const THREAD = '"thread"';
export const ALWAYS_PRUNE = always(PRUNE);

interface PassingParts {
  readonly memo: PrefixMemo;
  readonly sent: SentMemory;
  readonly accepted: AcceptedCuts;
  readonly read: ReadStage;
}

/**
 * Finds out synchronously, from memory, whether a request needs no decision: it continues a remembered one, or begins
 * anew, and no new text in it could be cut. Such a request is forwarded with the cuts of its history repeated, and is
 * parsed afterwards. Whatever is unusual is left to the pipeline, which would forward the same bytes.
 */
export class Passing {
  readonly #options: PipelineOptions;
  readonly #parts: PassingParts;
  readonly #walk = new BodyWalk();
  /** Whether context GC can judge a request without counting its tokens. */
  readonly #isPossible: boolean;

  constructor(options: PipelineOptions, parts: PassingParts) {
    this.#options = options;
    this.#parts = parts;
    this.#isPossible = options.segments?.collector?.counts !== true;
  }

  /** Never throws. `null`: the pipeline has to handle the request. */
  pass(
    body: Buffer,
    dialect: Dialect,
    incoming: Pick<IncomingRequest, 'scope' | 'sessions' | 'sender' | 'model'>,
  ): Passed | null {
    const { scope } = incoming;
    if (!this.#isPossible || dialect.walk === undefined || scope === undefined) return null;
    const state = this.#stateNow(scope);
    if (state === null || !state.directives.empty) return null;
    const match = this.#parts.memo.find(body, (known) => this.#isUsable(known, { dialect, scope }, state));
    const from = match?.checkpoint.at ?? 0;
    const remembered = match?.body ?? null;
    const walk = this.#walk;
    if (!walk.walk(body, from, dialect.walk) || walk.longest >= this.#minChars(scope.project)) return null;
    if (body.indexOf(MARKER, from) >= 0) return null;
    if (match && !this.#continues(body, match, dialect)) return null;
    if (!match && dialect.keepsHistory === 'threads' && body.includes(THREAD)) return null;
    // the name of a conversation decides whether it belongs to the control group
    const mayHoldOut = this.#options.mayHoldOut?.(scope.project) === true;
    const isNamed = !match && mayHoldOut;
    if (match?.checkpoint.edits === 0 && mayHoldOut && this.#isHeldOut(match.body.shownId, scope)) return null;
    const isLookedUp = isNamed || walk.longest >= MIN_BYTES;
    const read = isLookedUp ? this.#lookUp({ body, dialect, ...incoming }, match, state) : null;
    if (isLookedUp && read === null) return null;
    const isWhole = remembered !== null && walk.messages === 0 && from === remembered.prefix.bytes.length;
    const edits = match?.checkpoint.edits ?? 0;
    const forwarded = edits > 0 && match ? applyToBody(body, match.body.edits.slice(0, edits)) : body;
    if (this.#mayStep(match, dialect, scope, forwarded.length, state.now)) return null;
    return {
      body: forwarded,
      tokensSaved: match ? savedUpTo(match) : 0,
      state,
      match,
      repeated: isWhole ? remembered : null,
      read,
    };
  }

  /**
   * Parses a request that has passed, hands it to the observers, and remembers it for the next one.
   *
   * @throws JsonShapeError if the body is not understood
   */
  async parse(incoming: IncomingRequest, { body, state, match: first, read, repeated }: Passed): Promise<Parsed> {
    const { memo, accepted, read: stage } = this.#parts;
    // an earlier request of the conversation may have been parsed in the meantime
    const later = read ? null : memo.find(incoming.body, (known) => this.#isUsable(known, incoming, state));
    const request = read ?? asPassed(await run(stage.run(incoming, ALWAYS_PRUNE, state, later ?? first)));
    const { editsBefore: edits, outcomesBefore: outcomes } = request.read;
    const spliced = { body, edits, outcomes, counts: [{ edits: edits.length, outcomes: outcomes.length }] };
    const persisted = { request, decisions: new Map(), fallbacks: [], spliced, failed: false };
    incoming.onRead?.({ read: request.read, segments: segmentsOf(persisted) });
    const remembered = repeated === null ? bodyToRemember(persisted) : null;
    if (remembered) memo.add(remembered, request.read.match?.body ?? null);
    return { rewritten: accepted.markAccepted(rewritten(persisted, [])), nameOf: stage.namer(incoming, request.read) };
  }

  /** Whether a remembered body may be used without asking the store. */
  #isUsable(
    known: RememberedBody,
    { dialect, scope = NO_SCOPE }: Pick<IncomingRequest, 'dialect' | 'scope'>,
    { epoch, directives, now }: StoreState,
  ): boolean {
    const age = now - known.storedAtMs;
    return (
      known.dialect === dialect.name &&
      isOfSameClient(known, scope) &&
      known.directives === directives.version &&
      known.epoch === epoch &&
      age >= 0 &&
      age < this.#options.decisions.trustMs
    );
  }

  /** The state of the store as far as memory has it; `null` if the store has to be asked, or is unavailable. */
  #stateNow({ project }: RequestScope): StoreState | null {
    const { store, clock, segments, refused, shortTools } = this.#options;
    const directives = segments ? segments.directives.known(project) : NO_DIRECTIVES;
    if (!directives || !refused.isEmpty || (shortTools && !shortTools.isEmpty)) return null;
    try {
      return { epoch: store.epoch(), directives, now: clock.nowMs(), failure: null };
    } catch (cause) {
      storeFailure(cause);
      return null;
    }
  }

  #minChars(project: string): number {
    const { find, findOf } = this.#options;
    return minChars(findOf?.(project, find) ?? find);
  }

  /** Whether a request that begins with a remembered body is an ordinary continuation of it. */
  #continues(body: Buffer, { body: known, checkpoint }: PrefixMatch, { verifiesHistory }: Dialect): boolean {
    const { messages, isAnswered, end } = this.#walk;
    // a provider that checks the history may refuse an unpruned one, which is then pruned and sent again
    if ((known.rawHistory && verifiesHistory === 'always') || known.isKept || !isSame(body, end, known.tail))
      return false;
    if (checkpoint.edits > 0 && !isAnswered && !this.#parts.accepted.covers(known, checkpoint)) return false;
    // further words before the first answer may bring a summary, which is part of the head
    return this.#options.segments?.collector === undefined || !known.begins || messages === 0 || isAnswered;
  }

  #isHeldOut(shownId: string, { project }: RequestScope): boolean {
    return this.#options.isHeldOut?.(shownId, project) === true;
  }

  /** Whether old results may have to be put aside. @param bytes - size of the body as forwarded */
  #mayStep(match: PrefixMatch | null, dialect: Dialect, scope: RequestScope, bytes: number, nowMs: number): boolean {
    const { segments } = this.#options;
    const { shownId: conversationId = '', head = NO_HEAD } = match?.body ?? {};
    const messages = (match?.checkpoint.messages ?? 0) + this.#walk.messages;
    const request = { scope, wire: dialect.name, conversationId, tokens: 0, bytes, messages, nowMs, head: () => head };
    return (segments?.collector?.stepFor(request) ?? null) !== null;
  }

  /** Parses a request and looks up how its new messages were sent before; `null` if that decides anything. */
  #lookUp(incoming: IncomingRequest, match: PrefixMatch | null, state: StoreState): ReadRequest | null {
    if (incoming.body.length - (match?.checkpoint.at ?? 0) > MAX_READ_BYTES) return null;
    const request = this.#parse(incoming, match, state);
    if (request === null || request.binding !== 'free') return null;
    const { read, scope } = request;
    if (read.found.length + read.secondKeys.size > 0) return null;
    if (!match && this.#isHeldOut(read.shownId, scope)) return null;
    const keys = match || read.shownId === '' ? [] : [controlPrefix(read.shownId)];
    for (let i = read.first; i < read.messages.length; i++) {
      const message = read.messages[i];
      const prefix = read.prefixes[i];
      if (message && prefix !== undefined && containsResultOrWords(message)) keys.push(prefix);
    }
    return this.#parts.sent.hasNone(keys) ? asPassed(request) : null;
  }

  #parse(incoming: IncomingRequest, match: PrefixMatch | null, state: StoreState): ReadRequest | null {
    try {
      return this.#parts.read.runNow(incoming, ALWAYS_PRUNE, state, match);
    } catch (cause) {
      if (cause instanceof JsonShapeError) return null;
      throw cause;
    }
  }
}

const NO_HEAD: HeadSums = { model: '', tools: '', system: '' };

/** A parsed request without any text to decide about. */
function asPassed({
  body,
  dialect,
  scope,
  signal,
  onRead,
  sender,
  policy,
  binding,
  state,
  read,
  steps,
}: ReadRequest): ReadRequest {
  return {
    body,
    dialect,
    scope,
    signal,
    onRead,
    sender,
    policy,
    binding,
    state,
    read,
    steps,
    known: NO_HISTORY,
    found: [],
  };
}

/** Whether the bytes after the last message are the same as before. */
function isSame(body: Buffer, end: number, tail: Buffer): boolean {
  return body.length - end === tail.length && tail.equals(body.subarray(end));
}

function savedUpTo({ body, checkpoint }: PrefixMatch): number {
  let saved = 0;
  for (let i = 0; i < checkpoint.outcomes; i++) {
    const outcome = body.outcomes[i];
    if (outcome) saved += outcome.tokensBefore - outcome.tokensAfter;
  }
  return saved;
}
