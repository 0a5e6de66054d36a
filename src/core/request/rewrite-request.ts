import { LRUCache } from 'lru-cache';
import type { AnswerTurn } from '../../dialects/dialect.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import { Turns } from '../decide/turns.ts';
import type { Ownership } from '../ownership.ts';
import type { KeptAnswers } from '../ports/answers.ts';
import type { BoldnessSteps } from '../ports/boldness.ts';
import type { Collector, DirectivesView, RequestScope, SegmentPorts } from '../ports/segments.ts';
import type { Clock, Store } from '../ports.ts';
import { NO_DIRECTIVES } from '../segments/apply-directives.ts';
import { boundRequest } from '../segments/immutable-history-project.ts';
import { type DecidedRequest, SegmentReporter } from '../segments/reporter.ts';
import { SentMemory } from '../sent/memory.ts';
import { PastUnknown } from '../sent/past-unknown.ts';
import { controlPrefix, takenPrefix, wholeRecord } from '../sent/whole.ts';
import { TIMED_OUT } from '../within.ts';
import { AnsweredConversations } from './answered-conversations.ts';
import type { FindSettings } from './find-texts.ts';
import { requestTokens } from './message-tokens.ts';
import { type PrefixMatch, PrefixMemo } from './prefix-memo.ts';
import { NO_SCOPE, type PreparedRequest, Preparer, viewFor } from './prepare-request.ts';
import { CHECKPOINTS, type IncomingRequest } from './read-request.ts';
import type { RefusedConversations } from './refused-conversations.ts';
import { bodyToRemember, MIN_REMEMBERED_BYTES, type StoreState, validityOf } from './remembered-body.ts';
import { heldOut, leftAlone, newCutPrefixes, type Rewritten, rewritten } from './rewritten.ts';
import { Settler } from './settle-request.ts';
import { slideExpiry } from './slide-expiry.ts';
import type { Spliced } from './splice.ts';

export interface RewriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  readonly render: RenderOptions;
  readonly refused: RefusedConversations;
  /** Whether a conversation is one of those that are left whole. */
  readonly isHeldOut?: (conversationId: string) => boolean;
  /** Which boldness steps hold; without them all is as configured. */
  readonly boldness?: BoldnessSteps;
  /** What was asked of single segments, and who wants to hear of them; without it nobody does. */
  readonly segments?: SegmentPorts;
  /** Where answers that the provider keeps are remembered beside the memory of this process. */
  readonly answers?: KeptAnswers;
  /** Where originals belong to projects. */
  readonly owners?: Ownership;
  /** Told of a fault that costs nothing now; `reason` is a short constant code. */
  readonly onFailure: FailureReporter;
  /** Most memory for remembered bodies, in bytes. */
  readonly memoBytes: number;
  /** Shared by all that works long on this thread. */
  readonly turns?: Turns;
}

/** Of the memory for bodies, for what was sent of single messages. */
const SENT_SHARE = 1 / 16;

/** The answer is on its way to the client: another writer may have the store for this long before the note is given up. */
const NOTE_WAIT_MS = 5_000;

/**
 * The pipeline of one request: find the texts, decide, splice. Nothing outside the cuts changes by a byte, and what
 * is decided for messages `0…i` depends on these alone.
 */
export class RequestRewriter {
  readonly #options: RewriterOptions;
  readonly #memo: PrefixMemo;
  readonly #sent: SentMemory;
  readonly #answers: AnsweredConversations;
  readonly #preparer: Preparer;
  readonly #settler: Settler;
  readonly #segmentReporter: SegmentReporter | null;
  readonly #collectors: readonly Collector[];
  /** What stands for messages whose cuts a provider took. */
  readonly #accepted = new LRUCache<string, true>({ max: MAX_ACCEPTED });

  constructor(options: RewriterOptions) {
    const { segments, find, render, onFailure, memoBytes, store, decisions, boldness, turns = new Turns() } = options;
    this.#options = options;
    this.#memo = new PrefixMemo(memoBytes * (1 - SENT_SHARE));
    this.#sent = new SentMemory(store, memoBytes * SENT_SHARE);
    this.#answers = new AnsweredConversations(options.answers, onFailure);
    this.#collectors = [segments?.collector, segments?.payer].filter((one) => one !== undefined);
    const counting = this.#collectors.length > 0;
    this.#preparer = new Preparer({
      find,
      counting,
      answers: this.#answers,
      sent: this.#sent,
      turns,
      keysOf: (jobs) => decisions.keysOf(jobs),
      ...(boldness && { boldness }),
    });
    this.#settler = new Settler({
      store,
      decisions,
      render,
      sent: this.#sent,
      turns,
      owners: options.owners,
      onFailure,
    });
    this.#segmentReporter = segments
      ? new SegmentReporter({ segments, find, onFailure, turns, rememberedFrom: MIN_REMEMBERED_BYTES })
      : null;
  }

  /**
   * Rewrites the body of a request. What was sent of its messages before is sent again, whatever has changed since; the
   * originals of all that is cut, and what is sent, are durable when it resolves. Where the store cannot serve, what is
   * new stays whole.
   *
   * @throws JsonShapeError when the body is not understood; the caller then sends it as it came
   * @throws PastUnknown where the request asks for that
   */
  rewrite(request: IncomingRequest): Promise<Rewritten> {
    return this.#rewrite(request, true);
  }

  /**
   * As `rewrite`, from the memory of this process alone, when the time for it is over: what was sent before is sent again
   * as far as it is remembered, and what is new stays whole.
   *
   * @throws JsonShapeError when the body is not understood
   * @throws PastUnknown where the request asks for that
   */
  async rewriteFromMemory(request: IncomingRequest): Promise<Rewritten> {
    const { clock, segments } = this.#options;
    const directives = segments?.directives.known((request.scope ?? NO_SCOPE).project) ?? NO_DIRECTIVES;
    const state: StoreState = { epoch: '', directives, now: clock.nowMs(), failure: TIMED_OUT };
    const prepared = await this.#preparer.prepare(request, this.#find(request, state), directives, TIMED_OUT);
    if (this.#options.refused.covers(prepared.read)) return leftAlone(prepared);
    refuseUnknown(prepared);
    if (this.#isHeldOut(prepared)) return heldOut(prepared);
    return this.#done(prepared, this.#settler.newWhole(prepared, TIMED_OUT).result, []);
  }

  async #rewrite(request: IncomingRequest, mayRepeat: boolean): Promise<Rewritten> {
    const { body, scope = NO_SCOPE, newTexts = 'decide', isOver } = request;
    const state = await this.#storeState(scope);
    const { directives } = state;
    const match = this.#find(request, state);
    let prepared = await this.#preparer.prepare(request, match, directives, null);
    if (this.#options.refused.covers(prepared.read)) {
      await slideExpiry(this.#options, body, 0, scope.project);
      return leftAlone(prepared);
    }
    const failure = state.failure ?? prepared.known.failure;
    // the store cannot tell what was sent: what this process remembers must do
    if (failure !== null && !match) {
      const known = this.#find(request, { ...state, failure });
      prepared = await this.#preparer.prepare(request, known, directives, null);
    }
    refuseUnknown(prepared);
    await slideExpiry(this.#options, body, match?.checkpoint.at ?? 0, scope.project);
    if (newTexts === 'decide' && this.#isHeldOut(prepared)) return heldOut(prepared);
    const settled =
      failure !== null && request.past === 'decide'
        ? await this.#settler.settlePast(prepared, failure)
        : await this.#settler.settle(prepared, failure);
    if (isOver?.()) throw TIMED_OUT;
    const { decisionOf, fallbacks, result, failed } = settled;
    prepared = settled.prepared;
    if (this.#options.owners && !failed) await this.#claim(this.#options.owners, scope.project, result);
    if (newTexts === 'decide') {
      const decided = decidedRequest(prepared, decisionOf, scope, directives);
      if (mayRepeat && !failed && (await this.#collected(request, decided, prepared, result))) {
        return this.#rewrite(request, false);
      }
      const remembered = bodyToRemember(request, prepared, result, validityOf(state, prepared, failed));
      if (remembered) this.#memo.add(remembered, prepared.read.match?.body ?? null);
      const bound = request.dialect.binding === 'must';
      this.#segmentReporter?.tell(bound ? boundRequest(decided, viewFor(request.dialect, directives)) : decided);
      const { collector } = this.#options.segments ?? {};
      if (bound && collector && this.#calling([collector], decided, prepared, result)) {
        return this.#done(prepared, result, [...fallbacks, WAITS]);
      }
    }
    return this.#done(prepared, result, fallbacks);
  }

  /**
   * One that was cut before keeps its cuts: whoever begins to hold out changes no bytes that were sent. One that is chosen
   * is noted, so that it stays whole whatever share is asked for later.
   */
  #isHeldOut({ read: { conversationId, editsBefore }, known }: PreparedRequest): boolean {
    const { isHeldOut, store, onFailure } = this.#options;
    if (known.sent.size + editsBefore.length > 0) return false;
    if (known.control) return true;
    if (conversationId === '' || isHeldOut?.(conversationId) !== true) return false;
    const sent = [wholeRecord(controlPrefix(conversationId))];
    this.#sent.add(sent);
    // nothing of the request depends on it: until it is written the share itself says the same
    const noted = store.commit({ decisions: [], touch: [], sent }, NOTE_WAIT_MS);
    void noted.catch((cause: unknown) => onFailure('control_not_noted', cause));
    return true;
  }

  #done(prepared: PreparedRequest, result: Spliced, fallbacks: readonly string[]): Rewritten {
    const done = rewritten(prepared, result, fallbacks);
    const isAccepted = done.acceptedBefore || newCutPrefixes(done).some((prefix) => this.#accepted.has(prefix));
    return isAccepted === done.acceptedBefore ? done : { ...done, acceptedBefore: isAccepted };
  }

  /**
   * Takes note that a provider took a request: the cuts in it hold from now on, and what of the past went whole was sent
   * whole before. Never rejects.
   */
  async accepted(request: Rewritten): Promise<void> {
    // what an answer stands behind was taken, as the conversation itself says
    const fresh = newCutPrefixes(request).filter((prefix) => !this.#accepted.has(prefix));
    for (const prefix of fresh) this.#accepted.set(prefix, true);
    const sent = [...request.rawPrefixes, ...fresh.map(takenPrefix)].map(wholeRecord);
    if (sent.length === 0) return;
    this.#sent.add(sent);
    const { store, onFailure } = this.#options;
    const batch = { decisions: [], touch: [], sent };
    await store.commit(batch, NOTE_WAIT_MS).catch((cause: unknown) => onFailure('past_not_noted', cause));
  }

  /** What would be cut, all of it new, without a store and without changing anything. */
  async rewriteDry(request: IncomingRequest): Promise<Rewritten> {
    const prepared = this.#preparer.prepareDry(request);
    return rewritten(prepared, await this.#settler.settleDry(prepared), []);
  }

  /**
   * Takes note of an answer that the provider keeps, for requests that go on from it without repeating it. Known at once;
   * durable when it resolves. Never rejects.
   */
  answered({ conversation }: Rewritten, turn: AnswerTurn): Promise<void> {
    return this.#answers.add(conversation, turn);
  }

  /** What the store says of itself and of directives; where it cannot be asked, `failure` says why. */
  async #storeState(scope: RequestScope): Promise<StoreState> {
    const { store, clock, segments } = this.#options;
    const now = clock.nowMs();
    try {
      const epoch = store.epoch();
      const { directives } = segments ?? {};
      const view = directives && (directives.known(scope.project) ?? (await directives.view(scope.project)));
      return { epoch, directives: view ?? NO_DIRECTIVES, now, failure: null };
    } catch (failure) {
      if (!(failure instanceof StoreUnavailable)) throw failure;
      return { epoch: '', directives: segments?.directives.known(scope.project) ?? NO_DIRECTIVES, now, failure };
    }
  }

  /** The furthest remembered body; while the store cannot be asked also one that it should be asked about. */
  #find({ body, dialect, past }: IncomingRequest, { epoch, directives, now, failure }: StoreState): PrefixMatch | null {
    const { trustMs } = this.#options.decisions;
    return this.#memo.find(
      body,
      (known) =>
        known.dialect === dialect.name &&
        !(past === 'decide' && known.rawPast) &&
        (failure !== null ||
          (known.directives === directives.mark &&
            known.epoch === epoch &&
            now >= known.storedAtMs &&
            now - known.storedAtMs < trustMs)),
    );
  }

  /** The first to want a step of a request of this size, and its tokens; `null` where none does. */
  #calling(
    collectors: readonly Collector[],
    { body, scope, conversationId, messages }: DecidedRequest,
    { read }: PreparedRequest,
    { outcomes }: Spliced,
  ): { readonly collector: Collector; readonly tokens: number } | null {
    if (collectors.length === 0) return null;
    const tokens = requestTokens(body, messages, read.tokens, outcomes);
    const collector = collectors.find((one) => one.wants(scope, conversationId, tokens));
    return collector ? { collector, tokens } : null;
  }

  /** Whether parts of the conversation were set aside in a step, so that the request is to be rewritten anew. */
  async #collected(
    request: IncomingRequest,
    decided: DecidedRequest,
    prepared: PreparedRequest,
    result: Spliced,
  ): Promise<boolean> {
    // where the provider checks the past, nothing of it may be set aside later
    if (!this.#segmentReporter || request.dialect.binding === 'must') return false;
    const calling = this.#calling(this.#collectors, decided, prepared, result);
    if (!calling) return false;
    const { scope, conversationId, directives } = decided;
    const messages = decided.messages.length - CHECKPOINTS; // the last ones may come back changed
    const hash = prepared.read.prefixes[messages - 1];
    if (hash === undefined) return false;
    let all: DecidedRequest = decided;
    if (decided.first > 0) {
      const whole = await this.#preparer.prepare(request, null, directives, null);
      const { decisionOf } = await this.#settler.settle(whole);
      all = decidedRequest(whole, decisionOf, scope, directives);
    }
    try {
      const step = { scope: hash, conversation: conversationId, messages };
      const seen = this.#segmentReporter.seen(all);
      const shareFrom = sharesOf(decided);
      return await calling.collector.collect({ scope, request: seen, tokens: calling.tokens, step, shareFrom });
    } catch (cause) {
      this.#options.onFailure('not_collected', cause);
      return false;
    }
  }

  /**
   * Makes the originals of all that is cut the project's, whoever brought their texts first. Never rejects: what could not
   * be written is written with the next request of the conversation.
   */
  async #claim(owners: Ownership, project: string, { outcomes }: Spliced): Promise<void> {
    const cut = outcomes.flatMap(({ pruneId }) => pruneId ?? []);
    await owners.claim(project, cut).catch((cause: unknown) => this.#options.onFailure('not_claimed', cause));
  }
}

/** @throws PastUnknown where what was sent is to be known, and is not */
function refuseUnknown({ known, unknownPast }: PreparedRequest): void {
  if (unknownPast === 'refuse' && known.unknown) throw new PastUnknown(known.failure);
}

/** The conversation is over its budget, and nothing of it may be set aside. */
const WAITS = 'budget_waits_for_client';
/** Messages with cuts that are known to be taken; the conversation itself tells, once it goes on. */
const MAX_ACCEPTED = 20_000;

/** Field by field: V8 gives what is spread and then added to a slow form, and this is made for every request. */
function decidedRequest(
  { body, read: { messages, first, callOf, conversationId }, found, steps }: PreparedRequest,
  decisionOf: DecidedRequest['decisionOf'],
  scope: RequestScope,
  directives: DirectivesView,
): DecidedRequest {
  return { messages, first, found, callOf, decisionOf, body, conversationId, steps, scope, directives };
}

/** What share of a body stands from a message on. */
function sharesOf({ body, messages }: DecidedRequest): (ordinal: number) => number {
  const end = messages.at(-1)?.span.end ?? 0;
  return (ordinal) => (end - (messages[ordinal]?.span.start ?? end)) / Math.max(1, body.length);
}
