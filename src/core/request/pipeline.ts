import type { AnswerTurn } from '../../dialects/dialect.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { type FallbackCode, StoreUnavailable } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import { TIMED_OUT, Turns } from '../decide/turns.ts';
import type { Ownership } from '../ownership.ts';
import type { KeptAnswers } from '../ports/answers.ts';
import type { BoldnessSteps } from '../ports/boldness.ts';
import type { RequestScope, SegmentPorts } from '../ports/segments.ts';
import { inSpan, type Traces } from '../ports/traces.ts';
import type { Clock, Store } from '../ports.ts';
import { NO_DIRECTIVES } from '../segments/apply-directives.ts';
import { SegmentReporter } from '../segments/reporter.ts';
import { ofVerifiedHistory } from '../segments/verified-history-project.ts';
import { NOTHING_KNOWN, recallHistory } from '../sent/history.ts';
import { HistoryUnknown } from '../sent/history-unknown.ts';
import { controlPrefix, SentMemory, wholeRecord } from '../sent/records.ts';
import type { ShelvedTools, ToolShelf } from '../shelf/shelf.ts';
import { CollectStage, directRequest, reportedRequest } from './collect.ts';
import { DecideStage } from './decide.ts';
import type { FindSettings } from './find-texts.ts';
import { bodyToRemember, MIN_REMEMBERED_BYTES, PersistStage, slideExpiry } from './persist.ts';
import { type Policy, PRUNE } from './policy.ts';
import { type PrefixMatch, PrefixMemo } from './prefix-memo.ts';
import type { RefusedConversations } from './provider-verdicts.ts';
import { AcceptedCuts, AnsweredConversations, NOTE_WAIT_MS } from './provider-verdicts.ts';
import { ReadStage } from './read.ts';
import {
  type DirectedRequest,
  type IncomingRequest,
  NO_SCOPE,
  type PersistedRequest,
  type StoreState,
} from './request.ts';
import { heldOut, leftAlone, type Rewritten, rewritten } from './rewritten.ts';

export interface PipelineOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly decisions: DecisionMaker;
  readonly find: FindSettings;
  /** Settings of a project that has its own. Default: the server's settings (`find`). */
  readonly findOf?: ((project: string, usual: FindSettings) => FindSettings) | undefined;
  readonly render: RenderOptions;
  readonly refused: RefusedConversations;
  /** Whether a conversation belongs to the control group, which is left whole. */
  readonly isHeldOut?: (conversationId: string, project: string) => boolean;
  /** Learned levels of boldness; without them the settings apply. */
  readonly boldness?: BoldnessSteps;
  /** Directives about single segments, and the parts that observe segments; absent: neither exists. */
  readonly segments?: SegmentPorts;
  /** Shortens descriptions of tools; absent: all stay whole. */
  readonly shelf?: Pick<ToolShelf, 'recall' | 'run' | 'fromMemory'>;
  /** Stores conversations behind answers that the provider keeps, so that they outlive this process. */
  readonly answers?: KeptAnswers;
  /** Where originals belong to projects. */
  readonly owners?: Ownership;
  readonly onFailure: FailureReporter;
  /** Most memory for remembered bodies, in bytes. */
  readonly memoBytes: number;
  /** Shared by everything on this thread that works for long. */
  readonly turns?: Turns;
  readonly traces?: Traces | undefined;
}

/** The share of `memoBytes` that is used for records of single messages. */
const SENT_SHARE = 1 / 16;
/** The conversation is over its budget, and nothing of it may be set aside. */
const WAITS: FallbackCode = 'budget_waits_for_client';

/**
 * The path of one request: read → recall → direct → decide → splice → persist → shelve → remember. Each stage takes the request and
 * returns it with what it found out. If context GC sets parts aside, the stages from read to persist run again. Nothing outside the cuts changes by a byte, and
 * decisions about messages `0…i` depend on these alone.
 */
export class RequestPipeline {
  readonly #options: PipelineOptions;
  readonly #memo: PrefixMemo;
  readonly #sent: SentMemory;
  readonly #answers: AnsweredConversations;
  readonly #accepted: AcceptedCuts;
  readonly #read: ReadStage;
  readonly #decide: DecideStage;
  readonly #persist: PersistStage;
  readonly #reporter: SegmentReporter | null;
  readonly #collect: CollectStage | null;

  constructor(options: PipelineOptions) {
    const { segments, find, render, onFailure, memoBytes, store, decisions, owners, boldness } = options;
    const { turns = new Turns() } = options;
    this.#options = options;
    this.#memo = new PrefixMemo(memoBytes * (1 - SENT_SHARE));
    this.#sent = new SentMemory(store, memoBytes * SENT_SHARE);
    this.#answers = new AnsweredConversations(options.answers, onFailure);
    this.#accepted = new AcceptedCuts(store, this.#sent, onFailure);
    const counting = segments?.collector !== undefined || segments?.costCollector !== undefined;
    this.#read = new ReadStage({ find, findOf: options.findOf, counting, answers: this.#answers, turns, boldness });
    this.#decide = new DecideStage({ store, decisions, owners, onFailure });
    const decide = this.#decide;
    this.#persist = new PersistStage({ decisions, decide, render, sent: this.#sent, turns, owners, onFailure });
    this.#reporter = segments
      ? new SegmentReporter({ segments, find, onFailure, turns, rememberedFrom: MIN_REMEMBERED_BYTES })
      : null;
    this.#collect = segments && this.#reporter ? new CollectStage(segments, this.#reporter, onFailure) : null;
  }

  /**
   * Rewrites the body of a request. Recorded cuts are replayed, whatever has changed since. When it resolves, the
   * originals of all cuts and the records are stored. If the store is not available, new texts stay whole.
   *
   * @throws JsonShapeError when the body is not understood; the caller then forwards it as it came
   * @throws HistoryUnknown where the policy is to wait for the store
   */
  async rewrite(request: IncomingRequest, policy: Policy = PRUNE): Promise<Rewritten> {
    const first = await this.#run(request, policy);
    if (!('spliced' in first)) return first;
    const wholly = async (): Promise<PersistedRequest | null> => {
      const all = await this.#run(request, policy, false);
      return 'spliced' in all ? all : null;
    };
    const mayCollect = policy.newTexts === 'prune' && !first.failed;
    const isCollected = mayCollect && (await this.#collect?.run(first, wholly)) === true;
    const last = isCollected ? await this.#run(request, policy) : first;
    if (!('spliced' in last)) return last;
    const shelved = (await this.#options.shelf?.run(last.request)) ?? null;
    return this.#remember(last, shelved);
  }

  /**
   * As `rewrite`, but uses only the memory of this process. For requests that have run out of time: remembered cuts are
   * replayed, and new texts stay whole.
   *
   * @throws JsonShapeError when the body is not understood
   * @throws HistoryUnknown where the policy is to wait for the store
   */
  async rewriteFromMemory(request: IncomingRequest, policy: Policy = PRUNE): Promise<Rewritten> {
    const { clock, segments } = this.#options;
    const { project } = request.scope ?? NO_SCOPE;
    const directives = segments?.directives.known(project) ?? NO_DIRECTIVES;
    const state: StoreState = { epoch: '', directives, now: clock.nowMs(), failure: TIMED_OUT };
    const directed = await this.#recalled(request, policy, state, this.#remembered(request, policy, state), TIMED_OUT);
    const shelved = this.#options.shelf?.fromMemory(directed) ?? null;
    const bypassed = this.#bypassed(directed, shelved !== null);
    if (bypassed) return bypassed;
    return this.#outcome(this.#persist.unstored(this.#decide.whole(directed, TIMED_OUT)), [], shelved);
  }

  /** What would be cut if the whole conversation were new. Uses no store and changes nothing. */
  async rewriteDry(request: IncomingRequest): Promise<Rewritten> {
    const state: StoreState = { epoch: '', directives: NO_DIRECTIVES, now: 0, failure: null };
    const read = await this.#read.run(request, PRUNE, state, null);
    const directed = directRequest(read, { ...NOTHING_KNOWN, found: read.read.found }, undefined);
    const spliced = this.#persist.dry(directed, await this.#decide.dry(directed.found));
    return rewritten({ request: directed, spliced }, []);
  }

  /** Records that a provider accepted a request. Never rejects. */
  accepted(request: Rewritten): Promise<void> {
    return this.#accepted.add(request);
  }

  /**
   * Records an answer that the provider stores, for requests that continue from it without repeating it. Known here at once,
   * durable when it resolves. Never rejects.
   */
  answered({ conversation }: Rewritten, turn: AnswerTurn): Promise<void> {
    return this.#answers.add(conversation, turn);
  }

  /** Read → recall → direct → decide → persist. @param mayResume - whether a remembered body is used */
  async #run(request: IncomingRequest, policy: Policy, mayResume = true): Promise<PersistedRequest | Rewritten> {
    const directed = await this.#prepared(request, policy, mayResume);
    const { body, scope, read } = directed;
    const hasShortTools = (await this.#options.shelf?.recall(directed)) ?? false;
    const bypassed = this.#bypassed(directed, hasShortTools);
    const from = bypassed?.refusedBefore ? 0 : (read.match?.checkpoint.at ?? 0);
    await slideExpiry(this.#options, body, from, scope.project);
    if (bypassed) return bypassed;
    const { traces } = this.#options;
    const decided = await inSpan(traces, 'decide', () => this.#decide.run(directed));
    const persisted = await inSpan(traces, 'commit', () => this.#persist.run(decided));
    request.signal?.throwIfAborted();
    return persisted;
  }

  /** Reads a request and recalls its history. If the store fails meanwhile, uses the memory of this process. */
  async #prepared(request: IncomingRequest, policy: Policy, mayResume: boolean): Promise<DirectedRequest> {
    const state = await this.#storeState(request.scope ?? NO_SCOPE);
    const match = mayResume ? this.#remembered(request, policy, state) : null;
    const directed = await this.#recalled(request, policy, state, match, null);
    const failure = state.failure ?? directed.known.failure;
    if (failure === null || !mayResume) return directed;
    const offline = { ...state, failure };
    const again = match ?? this.#remembered(request, policy, offline);
    const last = again === match ? directed : await this.#recalled(request, policy, offline, again, null);
    return { ...last, known: { ...last.known, failure } };
  }

  /** Read → recall → direct. @param unasked - why the store is not to be asked; `null` when it is */
  async #recalled(
    request: IncomingRequest,
    policy: Policy,
    state: StoreState,
    match: PrefixMatch | null,
    unasked: unknown,
  ): Promise<DirectedRequest> {
    const { decisions, find, findOf, traces } = this.#options;
    const { reasonLanguage } = findOf?.((request.scope ?? NO_SCOPE).project, find) ?? find;
    const read = await this.#read.run(request, policy, state, match);
    const recall = () => recallHistory(read, this.#sent, (jobs) => decisions.keysOf(jobs), unasked);
    const known = await inSpan(traces, 'look-up', recall);
    return directRequest(read, known, reasonLanguage);
  }

  /**
   * The outcome of a request whose conversation was refused or belongs to the control group; `null` for all others.
   *
   * @throws HistoryUnknown where the policy is to wait for the store
   */
  #bypassed(directed: DirectedRequest, hasShortTools: boolean): Rewritten | null {
    const { read, known, policy, dialect } = directed;
    if (this.#options.refused.covers(read)) return leftAlone(directed);
    if (policy.whenHistoryUnknown === 'wait' && known.unknown) throw new HistoryUnknown(known.failure);
    if (hasShortTools && dialect.verifiesHistory) return null;
    return policy.newTexts === 'prune' && this.#isHeldOut(directed) ? heldOut(directed) : null;
  }

  /**
   * Whether the conversation belongs to the control group. A conversation that was cut before keeps its cuts. A chosen
   * one is recorded, so that it stays whole even if the configured share changes.
   */
  #isHeldOut({ read: { conversationId, editsBefore }, known, scope }: DirectedRequest): boolean {
    const { isHeldOut, store, onFailure } = this.#options;
    if (known.sent.size + editsBefore.length > 0) return false;
    if (known.control) return true;
    if (conversationId === '' || isHeldOut?.(conversationId, scope.project) !== true) return false;
    const sent = [wholeRecord(controlPrefix(conversationId))];
    this.#sent.add(sent);
    // the request does not depend on it: until it is written the share gives the same answer
    const noted = store.commit({ decisions: [], touch: [], sent }, NOTE_WAIT_MS);
    void noted.catch((cause: unknown) => onFailure('control_not_noted', cause));
    return true;
  }

  /** Remembers a request for the next one of its conversation, and reports what it shows. */
  #remember(persisted: PersistedRequest, shelved: ShelvedTools | null): Rewritten {
    const { request, fallbacks } = persisted;
    if (request.policy.newTexts !== 'prune') return this.#outcome(persisted, fallbacks, shelved);
    const body = bodyToRemember(persisted);
    if (body) this.#memo.add(body, request.read.match?.body ?? null);
    if (this.#reporter) {
      const reported = reportedRequest(persisted);
      this.#reporter.report(request.dialect.verifiesHistory ? ofVerifiedHistory(reported) : reported);
    }
    const waits = this.#collect?.waits(persisted) === true;
    return this.#outcome(persisted, waits ? [...fallbacks, WAITS] : fallbacks, shelved);
  }

  #outcome(persisted: PersistedRequest, fallbacks: readonly string[], shelved: ShelvedTools | null): Rewritten {
    return this.#accepted.seenIn(rewritten(persisted, fallbacks, shelved));
  }

  /** The epoch of the store and the directives; if the store is not available, `failure` says why. */
  async #storeState(scope: RequestScope): Promise<StoreState> {
    const { store, clock, segments } = this.#options;
    const now = clock.nowMs();
    const { directives } = segments ?? {};
    try {
      const epoch = store.epoch();
      const view = directives && (directives.known(scope.project) ?? (await directives.view(scope.project)));
      return { epoch, directives: view ?? NO_DIRECTIVES, now, failure: null };
    } catch (failure) {
      if (!(failure instanceof StoreUnavailable)) throw failure;
      return { epoch: '', directives: directives?.known(scope.project) ?? NO_DIRECTIVES, now, failure };
    }
  }

  /**
   * The remembered body that shares the longest beginning with the request. While the store is not available, bodies
   * count that would otherwise have to be checked against it.
   */
  #remembered(
    { body, dialect }: IncomingRequest,
    policy: Policy,
    { epoch, directives, now, failure }: StoreState,
  ): PrefixMatch | null {
    const { trustMs } = this.#options.decisions;
    return this.#memo.find(
      body,
      (known) =>
        known.dialect === dialect.name &&
        !(policy.history === 're-prune' && known.rawHistory) &&
        (failure !== null ||
          (known.directives === directives.mark &&
            known.epoch === epoch &&
            now >= known.storedAtMs &&
            now - known.storedAtMs < trustMs)),
    );
  }
}
