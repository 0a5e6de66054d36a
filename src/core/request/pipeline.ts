import { run, type Work, waitFor } from '../../base/work.ts';
import { type FallbackCode, storeFailure } from '../../errors/errors.ts';
import type { AnswerTurn } from '../../wires/dialects/dialect.ts';
import { TIMED_OUT } from '../decide/time-limits.ts';
import { Turns } from '../decide/turns.ts';
import type { RequestScope } from '../ports/segments.ts';
import { inSpan } from '../ports/traces.ts';
import { NO_DIRECTIVES } from '../segments/apply-directives.ts';
import { recallHistory } from '../sent/history.ts';
import { HistoryUnknown } from '../sent/history-unknown.ts';
import { LateRecords } from '../sent/late-records.ts';
import { SentMemory } from '../sent/records.ts';
import { CollectStage, collectedRequest, directRequest, segmentsOf } from './collect.ts';
import { ConversationNames } from './conversation-names.ts';
import { DecideStage } from './decide.ts';
import { ALWAYS_PRUNE, type Parsed, type Passed, Passing } from './passing.ts';
import { bodyToRemember, PersistStage, slideExpiry } from './persist.ts';
import type { PipelineOptions } from './pipeline-options.ts';
import type { Policies } from './policy.ts';
import { isOfSameClient, type PrefixMatch, PrefixMemo } from './prefix-memo.ts';
import { AcceptedCuts, AnsweredConversations } from './provider-verdicts.ts';
import { ReadStage } from './read.ts';
import { type IncomingRequest, NO_SCOPE, type PersistedRequest, type ReadRequest, type StoreState } from './request.ts';
import {
  controlGroupRequest,
  type RewrittenRequest,
  refusedRequest,
  rewritten,
  unchangedRequest,
} from './rewritten.ts';
import { ServedLines } from './served-lines.ts';

/** Share of `memoBytes` for the records of single messages. */
const SENT_SHARE = 1 / 16;
/** The conversation exceeds its token budget, but the provider allows no stashing. */
const OVER_BUDGET: FallbackCode = 'budget_waits_for_client';

/**
 * The path of one request: read → recall → direct → decide → splice → persist → remember. Each stage returns
 * the request with its results added. If context GC stashes something, the stages from read to persist run again. No
 * byte outside the cuts changes, and decisions about messages `0…i` depend only on those messages.
 */
export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #memo: PrefixMemo;
  readonly #sent: SentMemory;
  readonly #answers: AnsweredConversations;
  readonly #late: LateRecords;
  readonly #accepted: AcceptedCuts;
  readonly #names: ConversationNames;
  readonly #read: ReadStage;
  readonly #served: ServedLines;
  readonly #decide: DecideStage;
  readonly #persist: PersistStage;
  readonly #collect: CollectStage | null;
  readonly #passing: Passing;

  constructor(options: PipelineOptions) {
    const { segments, find, render, onFailure, memoBytes, store, decisions, owners } = options;
    const { findOf, turns = new Turns() } = options;
    this.#options = options;
    this.#memo = new PrefixMemo(memoBytes * (1 - SENT_SHARE));
    this.#sent = new SentMemory(store, memoBytes * SENT_SHARE, options.ownRecords);
    this.#answers = new AnsweredConversations(options.answers, onFailure);
    this.#late = new LateRecords(store, onFailure);
    const { behind } = options;
    this.#accepted = new AcceptedCuts({ store, late: this.#late, sent: this.#sent, behind, onFailure });
    this.#names = new ConversationNames(options.clock, options.isKnownConversation);
    const counting = segments?.collector?.counts === true;
    this.#read = new ReadStage({ find, findOf, counting, answers: this.#answers, names: this.#names, turns });
    this.#served = new ServedLines({ store, owners });
    const repeats = (project: string): boolean => (findOf?.(project, find) ?? find).repeats === true;
    this.#decide = new DecideStage({ store, decisions, owners, repeats, onFailure });
    const records = { sent: this.#sent, late: this.#late };
    this.#persist = new PersistStage({ decisions, decide: this.#decide, render, ...records, turns, owners, onFailure });
    this.#collect = segments ? new CollectStage(segments, find, onFailure) : null;
    this.#passing = new Passing(options, {
      ...{ memo: this.#memo, sent: this.#sent, accepted: this.#accepted, read: this.#read },
    });
  }

  /**
   * Rewrites the body of a request. Recorded cuts are replayed, whatever has changed since. When it resolves, the
   * originals of all cuts and the records are stored. If the store is unavailable, new texts stay whole. A promise is
   * returned only if the request has to wait.
   *
   * @throws JsonShapeError if the body is not understood; the caller then forwards it unchanged
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  rewrite(incoming: IncomingRequest, policies: Policies = ALWAYS_PRUNE): RewrittenRequest | Promise<RewrittenRequest> {
    return run(this.#rewrite(incoming, policies));
  }

  *#rewrite(incoming: IncomingRequest, policies: Policies): Work<RewrittenRequest> {
    const first = yield* this.#run(incoming, policies);
    if (!isPersisted(first)) return first;
    const mayCollect = first.request.policy.newTexts === 'prune' && !first.failed;
    const isCollected =
      mayCollect &&
      this.#collect !== null &&
      (yield* this.#collect.run(first, () => this.#runWhole(incoming, policies)));
    const last = isCollected ? yield* this.#run(incoming, policies) : first;
    if (!isPersisted(last)) return last;
    const { purpose = 'generate' } = incoming;
    // nothing is stashed where the provider verifies the history, so nobody asks for the record
    if (purpose === 'generate' && last.request.binding !== 'verified')
      this.#options.segments?.collector?.sending(collectedRequest(last.request, last.spliced.body.length));
    return this.#remember(last);
  }

  /**
   * Like `rewrite`, but uses only in-process memory. For requests whose time limit has passed: remembered cuts are
   * replayed, and new texts stay whole.
   *
   * @throws JsonShapeError if the body is not understood
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  async rewriteFromMemory(incoming: IncomingRequest, policies: Policies = ALWAYS_PRUNE): Promise<RewrittenRequest> {
    const { clock, segments } = this.#options;
    const { project } = incoming.scope ?? NO_SCOPE;
    const directives = segments?.directives.known(project) ?? NO_DIRECTIVES;
    const state: StoreState = { epoch: '', directives, now: clock.nowMs(), failure: TIMED_OUT };
    const match = this.#findRemembered(incoming, policies, state);
    const request = await run(this.#recall(incoming, policies, state, match, TIMED_OUT));
    incoming.onRead?.({ read: request.read, segments: null });
    const bypassed = this.#bypass(request);
    if (bypassed?.heldOut) this.#persist.rememberWhole(request);
    if (bypassed) return bypassed;
    const unstored = this.#persist.unstored(request, this.#decide.whole(request, TIMED_OUT));
    return this.#outcomeOf(unstored, []);
  }

  /** See `Passing.pass`. The caller hands every request that passed to `passed` later. */
  pass(...request: Parameters<Passing['pass']>): Passed | null {
    return this.#passing.pass(...request);
  }

  /** See `Passing.parse`. */
  passed(incoming: IncomingRequest, passed: Passed): Promise<Parsed> {
    return this.#passing.parse(incoming, passed);
  }

  /** Dry run: cuts the whole conversation as if it were new. Does not use the store and changes nothing. */
  async rewriteDry(incoming: IncomingRequest): Promise<RewrittenRequest> {
    const state: StoreState = { epoch: '', directives: NO_DIRECTIVES, now: 0, failure: null };
    const request = await run(this.#readTexts(incoming, ALWAYS_PRUNE, state, null, true));
    incoming.onRead?.({ read: request.read, segments: null });
    const spliced = this.#persist.dry(request, await run(this.#decide.dry(request)));
    return rewritten({ request, spliced }, []);
  }

  /** Writes records that could not be written so far. Never rejects. */
  async flush(): Promise<void> {
    await this.#accepted.flush();
    await run(this.#late.flush());
  }

  /** Records that a provider accepted a request. */
  accepted(request: RewrittenRequest): void {
    this.#accepted.add(request);
  }

  /**
   * Records an answer that the provider stores, for requests that continue from it without repeating it. Available to
   * this process at once, durable when the promise resolves. Never rejects.
   */
  answered(project: string, { conversation, shownId }: RewrittenRequest, turn: AnswerTurn): Promise<void> {
    this.#names.kept(project, shownId, turn.id);
    return this.#answers.add(project, conversation, turn);
  }

  /** Records that a request was answered: from now on, an identical request may begin another conversation. */
  completed(project: string, { begins, shownId }: Pick<RewrittenRequest, 'begins' | 'shownId'>): void {
    if (begins) this.#names.answered(project, shownId);
  }

  /**
   * Read → recall → direct → decide → persist.
   *
   * @param mayResume - whether a remembered body is used
   * @returns the final outcome if the request is bypassed
   */
  *#run(incoming: IncomingRequest, policies: Policies, mayResume = true): Work<PersistedRequest | RewrittenRequest> {
    const request = yield* this.#prepare(incoming, policies, mayResume);
    const { body, scope, read } = request;
    this.#throwIfUnknown(request); // which is more than that the descriptions of its tools are not known
    const { shortTools, traces } = this.#options;
    if (shortTools) yield* shortTools.ready(request);
    const bypassed = yield* this.#bypassRecorded(request);
    const from = bypassed?.refusedBefore ? 0 : (read.match?.checkpoint.at ?? 0);
    yield* slideExpiry(this.#options, body, from, scope.project);
    if (bypassed) {
      incoming.onRead?.({ read: request.read, segments: null });
      return bypassed;
    }
    const decided = yield* inSpan(traces, 'decide', this.#decide.run(request));
    const persisted = yield* inSpan(traces, 'commit', this.#persist.run(request, decided));
    incoming.signal?.throwIfAborted();
    return persisted;
  }

  /** Like `#run`, for all messages; `null` if the request is bypassed. */
  *#runWhole(incoming: IncomingRequest, policies: Policies): Work<PersistedRequest | null> {
    const all = yield* this.#run(incoming, policies, false);
    return isPersisted(all) ? all : null;
  }

  /**
   * Reads a request and recalls its history. If the store fails meanwhile, remembered bodies are reused even though
   * they cannot be validated against the store.
   */
  *#prepare(incoming: IncomingRequest, policies: Policies, mayResume: boolean): Work<ReadRequest> {
    const state = yield* this.#storeState(incoming.scope ?? NO_SCOPE);
    const match = mayResume ? this.#findRemembered(incoming, policies, state) : null;
    const request = yield* this.#recall(incoming, policies, state, match, null);
    const failure = state.failure ?? request.known.failure;
    if (failure === null || !mayResume) return request;
    const offline = { ...state, failure };
    const kept = match ?? this.#findRemembered(incoming, policies, offline);
    const recalled = kept === match ? request : yield* this.#recall(incoming, policies, offline, kept, null);
    return { ...recalled, known: { ...recalled.known, failure } };
  }

  /**
   * Read → recall → direct.
   *
   * @param skipReason - reason to skip the store, or `null`
   */
  *#recall(
    incoming: IncomingRequest,
    policies: Policies,
    state: StoreState,
    match: PrefixMatch | null,
    skipReason: unknown,
  ): Work<ReadRequest> {
    const { decisions, find, findOf, traces } = this.#options;
    const { reasonLanguage } = findOf?.((incoming.scope ?? NO_SCOPE).project, find) ?? find;
    const offline = skipReason !== null || state.failure !== null;
    const read = yield* this.#readTexts(incoming, policies, state, match, offline);
    if (read.policy.unchanged !== undefined) return read;
    const recalling = recallHistory(read, this.#sent, (jobs) => decisions.keysOf(jobs), skipReason);
    const known = yield* inSpan(traces, 'look-up', recalling);
    return directRequest(read, known, reasonLanguage);
  }

  /** Reads a request and marks lines in it that were recovered earlier. */
  *#readTexts(
    incoming: IncomingRequest,
    policies: Policies,
    state: StoreState,
    match: PrefixMatch | null,
    offline: boolean,
  ): Work<ReadRequest> {
    const reading = yield* this.#read.run(incoming, policies, state, match);
    const found = yield* this.#served.mark(reading.read.found, reading.scope.project, offline);
    return found === reading.read.found ? reading : { ...reading, read: { ...reading.read, found }, found };
  }

  /**
   * Outcome of a request that is forwarded unchanged because of its policy, a refused conversation or the control
   * group; otherwise `null`.
   *
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  #bypass(request: ReadRequest): RewrittenRequest | null {
    const { read, policy } = request;
    if (policy.unchanged !== undefined) return unchangedRequest(request);
    if (this.#options.refused.covers(read)) return refusedRequest(request);
    this.#throwIfUnknown(request);
    return policy.newTexts === 'prune' && this.#isHeldOut(request) ? controlGroupRequest(request) : null;
  }

  /** @throws HistoryUnknown if the policy is to wait for the store */
  #throwIfUnknown({ read, known, policy, binding, scope }: ReadRequest): void {
    if (policy.whenHistoryUnknown !== 'wait' || !known.unknown) return;
    if (policy.unchanged !== undefined || this.#options.refused.covers(read)) return;
    const { shownId, conversationId } = read;
    const bound = binding === 'free' ? null : `${scope.project}\n${shownId || conversationId}`;
    throw new HistoryUnknown(known.failure, bound);
  }

  /**
   * Like `#bypass`, but records what a control-group request sends whole: the same conversation under another name may
   * belong to the pruned group. `null` if that one has already sent cuts.
   */
  *#bypassRecorded(request: ReadRequest): Work<RewrittenRequest | null> {
    const bypassed = this.#bypass(request);
    if (bypassed?.heldOut !== true) return bypassed;
    return (yield* this.#persist.recordWhole(request)) ? bypassed : null;
  }

  /**
   * Whether the conversation belongs to the control group. Membership is permanent, even if the configured share
   * changes, and a conversation with cuts never joins.
   */
  #isHeldOut(request: ReadRequest): boolean {
    const { known, scope } = request;
    const { shownId, editsBefore } = request.read;
    if (known.sent.size + editsBefore.length > 0 || this.#options.shortTools?.has(request)) return false;
    return known.control || (shownId !== '' && this.#options.isHeldOut?.(shownId, scope.project) === true);
  }

  /** Remembers a request for the next one of its conversation, and passes it to the observers. */
  #remember(persisted: PersistedRequest): RewrittenRequest {
    const { request, fallbacks } = persisted;
    const isDecided = request.policy.newTexts === 'prune';
    if (request.onRead) request.onRead({ read: request.read, segments: isDecided ? segmentsOf(persisted) : null });
    if (!isDecided) return this.#outcomeOf(persisted, fallbacks);
    const body = bodyToRemember(persisted);
    if (body) this.#memo.add(body, request.read.match?.body ?? null);
    const isStuck = this.#collect?.isStuckOverBudget(persisted) === true;
    return this.#outcomeOf(persisted, isStuck ? [...fallbacks, OVER_BUDGET] : fallbacks);
  }

  #outcomeOf(persisted: PersistedRequest, fallbacks: readonly string[]): RewrittenRequest {
    const toolEdits = this.#options.shortTools?.editsOf(persisted.request) ?? [];
    return this.#accepted.markAccepted(rewritten(persisted, fallbacks, toolEdits));
  }

  /** Reads the store's epoch and the directives; if the store is unavailable, `failure` says why. */
  *#storeState(scope: RequestScope): Work<StoreState> {
    const { store, clock, segments } = this.#options;
    const now = clock.nowMs();
    const { directives } = segments ?? {};
    try {
      const epoch = store.epoch();
      const view = directives && (directives.known(scope.project) ?? (yield* waitFor(directives.view(scope.project))));
      return { epoch, directives: view ?? NO_DIRECTIVES, now, failure: null };
    } catch (cause) {
      const failure = storeFailure(cause);
      return { epoch: '', directives: directives?.known(scope.project) ?? NO_DIRECTIVES, now, failure };
    }
  }

  /**
   * The remembered body that shares the longest prefix with the request. While the store is unavailable, unvalidated
   * bodies are accepted too.
   */
  #findRemembered(
    { body, dialect, scope = NO_SCOPE }: IncomingRequest,
    policies: Policies,
    { epoch, directives, now, failure }: StoreState,
  ): PrefixMatch | null {
    const { trustMs } = this.#options.decisions;
    return this.#memo.find(
      body,
      (known) =>
        known.dialect === dialect.name &&
        !(policies.bound.history === 're-prune' && known.rawHistory) &&
        (failure !== null ||
          (isOfSameClient(known, scope) &&
            known.directives === directives.version &&
            known.epoch === epoch &&
            now >= known.storedAtMs &&
            now - known.storedAtMs < trustMs)),
    );
  }
}

/** Whether a request went through all stages instead of being bypassed. */
function isPersisted(result: PersistedRequest | RewrittenRequest): result is PersistedRequest {
  return 'spliced' in result;
}
