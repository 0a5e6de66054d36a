import { LRUCache } from 'lru-cache';
import type { AnswerTurn, Dialect, ScannedMessage, ScannedText } from '../dialects/dialect.ts';
import type { RenderOptions } from '../engine/text/render.ts';
import { StoreUnavailable } from '../errors.ts';
import type { TellFailure } from '../failures.ts';
import { Conversation } from '../goal/conversation.ts';
import type { DecisionMaker } from './decide/decision-maker.ts';
import { type Settled, settleTexts } from './decide/for-request.ts';
import { Turns } from './decide/turns.ts';
import { reasonOf } from './failure-reason.ts';
import type { FindSettings, FoundText } from './find-texts.ts';
import { pruneIdsIn } from './hash.ts';
import { requestTokens } from './message-tokens.ts';
import type { KeptAnswers } from './ports/answers.ts';
import type { DirectivesView, RequestScope, SegmentPorts } from './ports/segments.ts';
import type { SentMessage } from './ports/sent.ts';
import type { Clock, Decision, NewDecision, Store } from './ports.ts';
import { PrefixBytes } from './prefix-bytes.ts';
import { type Checkpoint, type PrefixMatch, PrefixMemo, type RememberedBody, type TextOutcome } from './prefix-memo.ts';
import {
  CHECKPOINTS,
  type IncomingRequest,
  type ReadBody,
  type ReadOptions,
  readRequest,
  tailOf,
} from './read-request.ts';
import type { RefusedConversations } from './refused-conversations.ts';
import { direct, type HeldSteps, heldSteps, NO_DIRECTIVES } from './segments/apply-directives.ts';
import { boundProject } from './segments/bound-project.ts';
import { type DecidedRequest, SegmentReporter } from './segments/reporter.ts';
import { SentMemory } from './sent/memory.ts';
import { type KnownPast, knownPast, lostOriginals } from './sent/past.ts';
import { recordsOf } from './sent/record.ts';
import { mayBeCut, takenPrefix, wholeRecord } from './sent/whole.ts';
import { type Spliced, splice } from './splice.ts';
import { within } from './within.ts';

export interface RewriterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  readonly render: RenderOptions;
  readonly refused: RefusedConversations;
  /** What was asked of single segments, and who wants to hear of them; without it nobody does. */
  readonly segments?: SegmentPorts;
  /** Where answers that the provider keeps are remembered beside the memory of this process. */
  readonly answers?: KeptAnswers;
  /** Told of a fault that costs nothing now; `reason` is a short constant code. */
  readonly onFailure: TellFailure;
  /** Most memory for remembered bodies, in bytes. */
  readonly memoBytes: number;
  /** Shared by all that works long on this thread. */
  readonly turns?: Turns;
}

/** A request after pruning. `body` is the very Buffer that came in when nothing was cut. */
export interface Rewritten {
  readonly body: Buffer;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScannedMessage[];
  /** For each message what stands for it and all before it. */
  readonly prefixes: readonly string[];
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
}

/** Of the memory for bodies, for what was sent of single messages. */
const SENT_SHARE = 1 / 16;
/** Markers of others in one request whose expiry slides: more than a window of a million tokens holds. */
const MAX_TOUCHED = 30_000;
/** A smaller body with nothing to prune is walked faster than it is remembered. */
const MIN_REMEMBERED_BYTES = 64 * 1024;

/** Reading and splicing take some 5 ms for each MB: a smaller body is nothing that others would notice. */
const MIN_TURN_BYTES = 256 * 1024;

/**
 * The pipeline of one request: find the texts, decide, splice. Nothing outside the cuts changes by a byte, and what
 * is decided for messages `0…i` depends on these alone.
 */
export class RequestRewriter {
  readonly #options: RewriterOptions;
  readonly #memo: PrefixMemo;
  readonly #sent: SentMemory;
  readonly #segmentReporter: SegmentReporter | null;
  readonly #answers = new LRUCache<string, Conversation>({
    max: MAX_ANSWERS,
    maxSize: MAX_ANSWER_NOTES,
    sizeCalculation: (conversation) => 1 + conversation.notes,
  });
  /** What stands for messages whose cuts a provider took. */
  readonly #accepted = new LRUCache<string, true>({ max: MAX_ACCEPTED });
  readonly #readOptions: ReadOptions;
  readonly #turns: Turns;

  constructor(options: RewriterOptions) {
    const { segments, find, onFailure, memoBytes, store, turns = new Turns() } = options;
    this.#turns = turns;
    this.#options = options;
    this.#memo = new PrefixMemo(memoBytes * (1 - SENT_SHARE));
    this.#sent = new SentMemory(store, memoBytes * SENT_SHARE);
    this.#segmentReporter = segments
      ? new SegmentReporter({ segments, find, onFailure, turns, rememberedFrom: MIN_REMEMBERED_BYTES })
      : null;
    this.#readOptions = {
      find,
      counting: segments?.collector !== undefined,
      conversationOf: (answerId) => this.#answers.get(answerId),
    };
  }

  /**
   * Rewrites the body of a request. What was sent of its messages before is sent again, whatever has changed since; the
   * originals of all that is cut, and what is sent, are durable when it resolves. Where the store cannot serve, what is
   * new stays whole.
   *
   * @throws JsonShapeError when the body is not understood; the caller then sends it as it came
   */
  rewrite(request: IncomingRequest): Promise<Rewritten> {
    return this.#rewrite(request, true);
  }

  /**
   * As `rewrite`, from the memory of this process alone, when the time for it is over: what was sent before is sent again
   * as far as it is remembered, and what is new stays whole.
   *
   * @throws JsonShapeError when the body is not understood
   */
  async rewriteFromMemory(request: IncomingRequest): Promise<Rewritten> {
    const { clock, segments } = this.#options;
    const directives = segments?.directives.known((request.scope ?? NO_SCOPE).project) ?? NO_DIRECTIVES;
    const state: StoreState = { epoch: '', directives, now: clock.nowMs(), failure: TIMED_OUT };
    const read = await this.#prepare(request, this.#find(request, state), state);
    if (this.#options.refused.covers(read.prefixes)) return leftAlone(read);
    return this.#done(read, this.#newWhole(read, TIMED_OUT).result, []);
  }

  async #rewrite(request: IncomingRequest, mayRepeat: boolean): Promise<Rewritten> {
    const { body, scope = NO_SCOPE, newTexts = 'decide' } = request;
    const state = await this.#storeState(scope);
    const match = this.#find(request, state);
    const start = match?.checkpoint.at ?? 0;
    let read = await this.#prepare(request, match, state);
    if (this.#options.refused.covers(read.prefixes)) {
      await this.#keepAlive(body, 0);
      return leftAlone(read);
    }
    await this.#keepAlive(body, start);
    const failure = state.failure ?? read.failure;
    // the store cannot tell what was sent: what this process remembers must do
    if (failure !== null && !match)
      read = await this.#prepare(request, this.#find(request, { ...state, failure }), state);
    const { decisionOf, fallbacks, result, failed, outdated } = await this.#settle(read, failure);
    request.signal?.throwIfAborted();
    if (outdated && mayRepeat) return this.#rewrite(request, false);
    if (newTexts === 'decide') {
      const decided = decidedRequest(read, decisionOf, scope, state.directives);
      if (mayRepeat && !failed && (await this.#collected(request, decided, read, result, state))) {
        return this.#rewrite(request, false);
      }
      this.#remember(request, read, result, validityOf(state, read, failed));
      const bound = request.dialect.binding === 'must';
      this.#segmentReporter?.tell(bound ? boundRequest(decided, viewFor(request.dialect, state.directives)) : decided);
      if (bound && this.#overBudget(decided, read, result)) return this.#done(read, result, [...fallbacks, WAITS]);
    }
    return this.#done(read, result, fallbacks);
  }

  #done(read: PreparedBody, result: Spliced, fallbacks: readonly string[]): Rewritten {
    const done = rewritten(read, result, fallbacks);
    return { ...done, acceptedBefore: done.acceptedBefore || cutPrefixes(done).some((cut) => this.#accepted.has(cut)) };
  }

  /**
   * Takes note that a provider took a request: the cuts in it hold from now on, and what of the past went whole was sent
   * whole before. Never rejects.
   */
  async accepted(request: Rewritten): Promise<void> {
    // what an answer stands behind was taken, as the conversation itself says
    const fresh = cutPrefixes(request, tailOf(request.messages)).filter((prefix) => !this.#accepted.has(prefix));
    for (const prefix of cutPrefixes(request)) this.#accepted.set(prefix, true);
    const sent = [...request.rawPrefixes, ...fresh.map(takenPrefix)].map(wholeRecord);
    if (sent.length === 0) return;
    this.#sent.add(sent);
    const { store, onFailure } = this.#options;
    const batch = { decisions: [], touch: [], sent };
    await store.commit(batch, 0).catch((cause: unknown) => onFailure('past_not_noted', cause));
  }

  /** What would be cut, all of it new, without a store and without changing anything. */
  async rewriteDry(request: IncomingRequest): Promise<Rewritten> {
    const { body } = request;
    const all = readRequest(request, null, this.#readOptions);
    const read: PreparedBody = {
      ...all,
      ...NOTHING_SENT,
      found: all.found,
      body,
      steps: NO_STEPS,
      bound: false,
      signal: undefined,
    };
    const jobs = read.found.filter(({ skip }) => skip === '').map(({ job }) => job);
    const decided = new Map((await this.#options.decisions.decideDry(jobs)).map((decision, i) => [jobs[i], decision]));
    const result = splice(body, read, ({ job }) => decided.get(job) ?? null, this.#options.render);
    return rewritten(read, result, []);
  }

  /**
   * Takes note of an answer that the provider keeps, for requests that go on from it without repeating it. Known at once;
   * durable when it resolves. Never rejects.
   */
  async answered({ conversation }: Rewritten, { id, said, calls }: AnswerTurn): Promise<void> {
    const after = conversation.fork();
    after.assistantSaid(
      said,
      calls.map(({ id: callId, name, args }) => ({ id: callId, call: { name, args } })),
    );
    // the very same as another proxy will read it
    this.#answers.set(id, after.kept());
    const { answers, onFailure } = this.#options;
    await answers?.keep(id, after.toText()).catch((cause: unknown) => onFailure('answer_not_kept', cause));
  }

  /** Looks up an answer that a request goes on from; whether something was learnt. */
  async #learn(answerId: string): Promise<boolean> {
    const { answers, onFailure } = this.#options;
    if (answerId === '' || !answers || this.#answers.has(answerId)) return false;
    const text = await answers.find(answerId).catch((cause: unknown) => {
      onFailure('answer_not_found', cause);
      return null;
    });
    if (text !== null) this.#answers.set(answerId, Conversation.fromText(text));
    return text !== null;
  }

  /** What the store says of itself and of directives; where it cannot be asked, `failure` says why. */
  async #storeState(scope: RequestScope): Promise<StoreState> {
    const { store, clock, segments } = this.#options;
    const now = clock.nowMs();
    try {
      const epoch = store.epoch();
      const directives = (await segments?.directives.view(scope.project)) ?? NO_DIRECTIVES;
      return { epoch, directives, now, failure: null };
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

  /**
   * Decides about what is new and makes it durable, together with what is about to be sent. Where that fails, what is new
   * stays whole, and what was sent before is sent again all the same.
   *
   * @param failure - why the store cannot be asked; `null` when it can
   */
  async #settle(read: PreparedBody, failure: unknown = null): Promise<SettledBody> {
    const { decisions, store, onFailure } = this.#options;
    if (failure !== null) return this.#newWhole(read, failure);
    if (read.found.length === 0) {
      const result = splice(read.body, read, NOTHING, this.#options.render);
      return { decisionOf: NOTHING, fallbacks: [], result, failed: false, outdated: false };
    }
    try {
      const lost = await lostOriginals(read.found, read.sent, store);
      const settling = settleTexts(read.found, read.outcomesBefore, decisions.deadline(), {
        store,
        decisions,
        sent: read.sent,
        past: read.past,
      });
      const settled = await within(settling, decisions.patienceMs, (cause) => onFailure('decided_too_late', cause));
      return settled ? await this.#makeDurable(read, settled, lost) : this.#newWhole(read, TIMED_OUT);
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      return this.#newWhole(read, cause);
    }
  }

  /** What was sent before is sent again, and what is new stays whole. */
  #newWhole(read: PreparedBody, cause: unknown): SettledBody {
    const decisionOf = (text: FoundText): Decision | null => read.sent.get(text) ?? null;
    this.#sent.add(wholeRecords(read));
    const reason = cause === TIMED_OUT ? 'timeout' : reasonOf(cause);
    this.#options.onFailure(reason, cause);
    const result = splice(read.body, read, decisionOf, this.#options.render, reason);
    return { decisionOf, fallbacks: [reason], result, failed: true, outdated: false };
  }

  /** @throws StoreUnavailable when nothing was stored */
  async #makeDurable(read: PreparedBody, settled: Settled, lost: readonly NewDecision[]): Promise<SettledBody> {
    const { decisions, render } = this.#options;
    const { fresh, fallbacks } = settled;
    const final = new Map(settled.results);
    const decisionOf = (text: FoundText): Decision | null => final.get(text) ?? null;
    const spliced = (): { readonly result: Spliced; readonly sent: SentMessage[] } => {
      const result = splice(read.body, read, decisionOf, render);
      const open = read.found.map((text) => (read.sent.has(text) ? null : text));
      const outcomes = result.outcomes.slice(read.outcomesBefore.length);
      const cut = recordsOf(open, outcomes, decisionOf, (index) => read.prefixes[index] ?? '', render);
      return { result, sent: [...cut, ...wholeRecords(read, new Set(cut.map(({ prefix }) => prefix)))] };
    };
    const unique = new Map([...lost, ...fresh].map((one) => [one.decision.key, one]));
    const attempt = () => this.#inTurn(read.body.length, spliced);
    let made = await attempt();
    read.signal?.throwIfAborted();
    let stored = await decisions.makeDurable([...unique.values()], made.sent, read.conversationId);
    if (stored.instead.size + stored.refused.size > 0) {
      for (const [text, { key }] of final) {
        if (read.sent.has(text)) continue; // it went out: that holds
        const other = stored.instead.get(key);
        if (other) final.set(text, other);
        else if (stored.refused.has(key)) final.delete(text);
      }
      made = await attempt();
      stored = await decisions.makeDurable([], made.sent, read.conversationId);
    }
    read.signal?.throwIfAborted(); // whoever waited has sent something else
    this.#sent.add(made.sent);
    return { decisionOf, fallbacks, result: made.result, failed: false, outdated: stored.sentBefore };
  }

  /** Reads a request and finds out what was sent of it before; then directives have their say. */
  async #prepare(request: IncomingRequest, match: PrefixMatch | null, state: StoreState): Promise<PreparedBody> {
    const { body, dialect, scope = NO_SCOPE, newTexts, signal } = request;
    const readIn = () => readRequest(request, match, this.#readOptions);
    let read = await this.#inTurn(body.length - (match?.checkpoint.at ?? 0), readIn);
    const unasked = state.failure === TIMED_OUT ? TIMED_OUT : null;
    if (unasked === null && (await this.#learn(read.scanned.previous)))
      read = readRequest(request, match, this.#readOptions);
    const directives = viewFor(dialect, state.directives);
    let steps = NO_STEPS;
    if (!directives.empty) {
      steps = heldSteps(directives.stepsOf(read.conversationId), read.prefixes, match);
      // the remembered body had others
      if (match && match.body.steps !== steps.mark) read = readRequest(request, null, this.#readOptions);
    }
    const known = await knownPast(request, read, this.#sent, unasked);
    const bound = dialect.binding === 'must' && newTexts !== 'replay';
    if (directives.empty) return { ...read, ...known, body, steps, bound, signal };
    const toolOf = (text: ScannedText): string => (text.use === 'result' ? (read.callOf(text)?.name ?? text.name) : '');
    const language = this.#options.find.reasonLanguage;
    const found = direct(body, { ...read, found: known.found, toolOf }, scope.project, directives, steps, language);
    return { ...read, ...known, found, body, steps, bound, signal };
  }

  /** Does what takes long for large bodies in turn with others; what is small does not wait. */
  #inTurn<T>(bytes: number, piece: () => T): T | Promise<T> {
    return bytes < MIN_TURN_BYTES ? piece() : this.#turns.run(piece);
  }

  /** Whether the conversation passed its budget. */
  #overBudget(request: DecidedRequest, read: PreparedBody, { outcomes }: Spliced): boolean {
    const collector = this.#options.segments?.collector;
    const { body, scope, conversationId, messages } = request;
    if (!collector) return false;
    return collector.wants(scope, conversationId, requestTokens(body, messages, read.tokens, outcomes));
  }

  /** Whether the conversation passed its budget and a step was taken, so that the request is to be rewritten anew. */
  async #collected(
    request: IncomingRequest,
    decided: DecidedRequest,
    read: PreparedBody,
    { outcomes }: Spliced,
    state: StoreState,
  ): Promise<boolean> {
    const collector = this.#options.segments?.collector;
    // where the provider checks the past, nothing of it may be set aside later
    if (!collector || !this.#segmentReporter || request.dialect.binding === 'must') return false;
    const { body, scope, conversationId } = decided;
    const tokens = requestTokens(body, decided.messages, read.tokens, outcomes);
    if (!collector.wants(scope, conversationId, tokens)) return false;
    const messages = decided.messages.length - CHECKPOINTS; // the last ones may come back changed
    const hash = read.prefixes[messages - 1];
    if (hash === undefined) return false;
    let all: DecidedRequest = decided;
    if (decided.first > 0) {
      const whole = await this.#prepare(request, null, state);
      const { decisionOf } = await this.#settle(whole);
      all = decidedRequest(whole, decisionOf, scope, state.directives);
    }
    try {
      const step = { scope: hash, conversation: conversationId, messages };
      return await collector.collect({ scope, request: this.#segmentReporter.seen(all), tokens, step });
    } catch (cause) {
      this.#options.onFailure('not_collected', cause);
      return false;
    }
  }

  /** Slides the expiry of every prune that a marker in the new part of the body names, whoever wrote it there. */
  async #keepAlive(body: Buffer, from: number): Promise<void> {
    const needle = 'prune_id=prn_';
    const ids = new Set<string>();
    for (let at = body.indexOf(needle, from); at >= 0 && ids.size < MAX_TOUCHED; at = body.indexOf(needle, at + 1)) {
      for (const id of pruneIdsIn(body.toString('latin1', at, at + 32))) ids.add(id);
    }
    if (ids.size === 0) return;
    const { store, onFailure } = this.#options;
    await store.commit({ decisions: [], touch: [...ids] }, 0).catch((cause: unknown) => onFailure('not_slid', cause));
  }

  #remember(
    { body, dialect }: IncomingRequest,
    read: PreparedBody,
    { edits, outcomes, counts }: Spliced,
    validity: Validity,
  ): void {
    const { match } = read;
    const { before, messages } = read.scanned;
    const checkpoints: Checkpoint[] = read.marks.map(({ message, conversation, tokens }) => {
      const done = counts[read.found.filter(({ messageIndex }) => messageIndex <= message).length];
      return {
        at: messages[message]?.span.end ?? 0,
        messages: message + 1,
        edits: done?.edits ?? 0,
        outcomes: done?.outcomes ?? 0,
        tokens,
        conversation,
      };
    });
    const last = checkpoints.at(-1);
    // what goes on from an answer is sent once: the next body begins with another one
    if (!last || read.scanned.previous !== '' || (outcomes.length === 0 && body.length < MIN_REMEMBERED_BYTES)) return;
    const known = match
      ? match.body.checkpoints.filter(({ messages: count }) => count <= match.checkpoint.messages)
      : [];
    const remembered: RememberedBody = {
      prefix: PrefixBytes.of(body, last.at, match?.body.prefix ?? null, match?.checkpoint.at ?? 0),
      dialect: dialect.name,
      before,
      messages,
      prefixes: read.prefixes,
      rawPast: read.rawPast.length > 0 || match?.body.rawPast === true,
      edits,
      outcomes,
      checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
      ...validity,
    };
    this.#memo.add(remembered, match?.body ?? null);
  }
}

/** A request, and what is known of it before anything new is decided. */
interface PreparedBody extends ReadBody, KnownPast {
  readonly body: Buffer;
  readonly found: readonly FoundText[];
  readonly steps: HeldSteps;
  /** What goes out now must go out again, whole texts among it. */
  readonly bound: boolean;
  /** As in `IncomingRequest`. */
  readonly signal: AbortSignal | undefined;
}

/** What the store says of itself. */
interface StoreState {
  readonly epoch: string;
  readonly directives: DirectivesView;
  readonly now: number;
  /** Why it could not be asked, or `null`. */
  readonly failure: unknown;
}

/** What became of a request's texts. */
interface SettledBody {
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly fallbacks: readonly string[];
  readonly result: Spliced;
  /** Nothing new was decided, for the store could not serve. */
  readonly failed: boolean;
  /** Something else was sent of one of the messages meanwhile. */
  readonly outdated: boolean;
}

type Validity = Pick<RememberedBody, 'epoch' | 'storedAtMs' | 'directives' | 'steps'>;

const NO_SCOPE: RequestScope = { project: 'default', task: '', requestId: '' };
const NO_STEPS: HeldSteps = { scopes: new Set(), mark: '' };
const NOTHING_SENT = {
  sent: new Map<FoundText, Decision>(),
  past: new Set<FoundText>(),
  taken: false,
  rawPast: [],
  failure: null,
};
const NOTHING = (): null => null;
/** The conversation is over its budget, and nothing of it may be set aside. */
const WAITS = 'budget_waits_for_client';
const TIMED_OUT = new Error('deciding took too long');
/** Answers kept by the provider that may still be gone on from. */
const MAX_ANSWERS = 2_000;
/** Calls and results that these answers may name together: each repeats those of its conversation, some 100 bytes a piece. */
const MAX_ANSWER_NOTES = 200_000;
/** Messages with cuts that are known to be taken; the conversation itself tells, once it goes on. */
const MAX_ACCEPTED = 20_000;

/** How long, and for which directives, a body may be gone on from without asking the store. */
function validityOf({ epoch, directives, now }: StoreState, { match, steps }: PreparedBody, failed: boolean): Validity {
  if (match && failed) {
    const { epoch: then, storedAtMs, directives: mark, steps: held } = match.body;
    return { epoch: then, storedAtMs, directives: mark, steps: held };
  }
  const storedAtMs = match?.body.storedAtMs ?? now;
  return { epoch: failed ? '' : epoch, storedAtMs, directives: directives.mark, steps: steps.mark };
}

/** Where the provider checks the past, nothing of it may give way later: only pins hold. */
function viewFor({ binding }: Dialect, directives: DirectivesView): DirectivesView {
  if (binding === 'should' || directives.empty) return directives;
  const of: DirectivesView['of'] = (...about) => (directives.of(...about) === 'pin' ? 'pin' : null);
  return { mark: directives.mark, empty: false, stepsOf: () => [], of };
}

/** Field by field: V8 gives what is spread and then added to a slow form, and this is made for every request. */
function decidedRequest(
  { body, messages, first, found, callOf, conversationId, steps }: PreparedBody,
  decisionOf: DecidedRequest['decisionOf'],
  scope: RequestScope,
  directives: DirectivesView,
): DecidedRequest {
  return { messages, first, found, callOf, decisionOf, body, conversationId, steps, scope, directives };
}

/** As it is noted where the provider checks the past: apart from what can be set aside, with pins alone. */
function boundRequest(request: DecidedRequest, directives: DirectivesView): DecidedRequest {
  const { scope } = request;
  return { ...request, scope: { ...scope, project: boundProject(scope.project) }, directives };
}

/** The request of a conversation that goes as it came. */
function leftAlone(read: PreparedBody): Rewritten {
  const untouched = { ...read, found: [], sent: new Map(), editsBefore: [], outcomesBefore: [] };
  const unchanged = { body: read.body, edits: [], outcomes: [], counts: [] };
  return { ...rewritten(untouched, unchanged, []), refusedBefore: true };
}

function rewritten(read: PreparedBody, { body, outcomes }: Spliced, fallbacks: readonly string[]): Rewritten {
  const { model, stream, messages } = read.scanned;
  // what was sent before stands first, for it is older than what is new
  const replayed = read.found.findLastIndex((text) => read.sent.has(text)) + 1;
  return {
    body,
    model,
    stream,
    messages,
    prefixes: read.prefixes,
    conversationId: read.conversationId,
    conversation: read.conversation,
    refusedBefore: false,
    acceptedBefore: wasAccepted(read),
    rawPast: read.rawPast.length > 0 || read.match?.body.rawPast === true,
    rawPrefixes: read.bound ? read.rawPast.flatMap((index) => read.prefixes[index] ?? []) : [],
    outcomes,
    newFrom: read.outcomesBefore.length + replayed,
    fallbacks,
  };
}

/** What stands for the messages in which something was cut, from one on. */
function cutPrefixes({ outcomes, prefixes }: Rewritten, from = 0): string[] {
  const cut = outcomes.flatMap(({ pruneId, messageIndex }) =>
    pruneId === null || messageIndex < from ? [] : messageIndex,
  );
  return [...new Set(cut)].flatMap((index) => prefixes[index] ?? []);
}

/** Records of the new messages that go whole, where that must be known. */
function wholeRecords(read: PreparedBody, cut: ReadonlySet<string> = new Set()): SentMessage[] {
  if (!read.bound) return [];
  const replayed = new Set([...read.sent.keys()].map(({ messageIndex }) => messageIndex));
  const from = Math.max(read.first, read.tail);
  return read.messages.flatMap((message, i) => {
    const prefix = read.prefixes[i];
    if (i < from || prefix === undefined || cut.has(prefix) || replayed.has(i) || !mayBeCut(message)) return [];
    return wholeRecord(prefix);
  });
}

/** Whether the model answered something that was cut: then its provider took it. */
function wasAccepted({ outcomesBefore, sent, taken, tail }: PreparedBody): boolean {
  return (
    taken ||
    outcomesBefore.some(({ pruneId, messageIndex }) => pruneId !== null && messageIndex < tail) ||
    [...sent.keys()].some(({ messageIndex }) => messageIndex < tail)
  );
}
