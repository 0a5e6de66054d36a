import type { FailureReporter } from '../../base/failures.ts';
import { run, type Work, waitFor } from '../../base/work.ts';
import { type FallbackCode, reasonOf, storeFailure } from '../../errors/errors.ts';
import { decide, type Job } from '../decide/decision.ts';
import type { LookedUpAhead } from '../decide/decision-cache.ts';
import type { Decided, DecisionMaker } from '../decide/decision-maker.ts';
import { decidableTexts, SHORT_ID } from '../decide/own-markers.ts';
import { TIMED_OUT, within } from '../decide/time-limits.ts';
import type { Ownership } from '../ownership.ts';
import type { Decision, NewDecision, Store } from '../ports.ts';
import { touchOriginals } from '../sent/history.ts';
import type { FoundText } from './found-text.ts';
import type { TextOutcome } from './prefix-memo.ts';
import { Repeats } from './repeats.ts';
import type { ReadRequest } from './request.ts';
import { warnOnce } from './warning.ts';

interface DecideOptions {
  readonly store: Store;
  readonly decisions: DecisionMaker;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership | undefined;
  /** Whether repeats of earlier lines are cut in a project. */
  readonly repeats: (project: string) => boolean;
  readonly onFailure: FailureReporter;
}

/** Whether repeats may be cut: the earlier lines are in the request, and will not be cleared by the provider. */
function mayRepeat(
  { scope, body, read: { scanned, messages } }: ReadRequest,
  isOn: (project: string) => boolean,
): boolean {
  if (!isOn(scope.project) || scanned.previous !== '') return false;
  if (scanned.managesContext !== true) return true;
  const [start, end] = [messages[0]?.span.start ?? 0, messages.at(-1)?.span.end ?? 0];
  return !body.subarray(0, start).includes(CLEARS_RESULTS) && !body.subarray(end).includes(CLEARS_RESULTS);
}

/** Edit of a client's `context_management` that drops old results. */
const CLEARS_RESULTS = 'clear_tool_uses';

/** The request with recorded repeats replaced whose copy is gone. */
function withoutOrphans(request: ReadRequest): ReadRequest {
  const { known } = request;
  const sent = new Repeats(request).checkSent(known.sent);
  return sent === known.sent ? request : { ...request, known: { ...known, sent } };
}

/** Decides about the texts of a request. If that fails, new texts stay whole and recorded cuts are replayed. */
export class DecideStage {
  readonly #options: DecideOptions;

  constructor(options: DecideOptions) {
    this.#options = options;
  }

  *run(received: ReadRequest): Work<DecidedTexts> {
    const request = withoutOrphans(received);
    const { known, found, policy } = request;
    if (known.failure !== null) {
      return policy.history === 're-prune' ? yield* this.#repruned(request) : this.whole(request, known.failure);
    }
    if (found.length === 0) return { decisions: known.sent, fresh: [], fallbacks: [], failure: null };
    try {
      const lost = yield* touchOriginals(found, known.sent, this.#options.store);
      const decided = yield* this.#decideTexts(request);
      if (!decided) return this.whole(request, TIMED_OUT);
      const { fresh, fallbacks } = decided;
      const decisions = new Map(decided.decisions);
      const open = found.filter((text) => text.skip === '' && !known.sent.has(text) && !known.fixed.has(text));
      const repeats = [...this.#decideRepeats(request, open, decisions), ...warnOnce(request, open, decisions)];
      const used = new Set([...decisions.values()].map(({ key }) => key));
      const unique = new Map(
        [...lost, ...fresh.filter(({ decision }) => used.has(decision.key)), ...repeats].map((one) => [
          one.decision.key,
          one,
        ]),
      );
      return { decisions, fresh: [...unique.values()], fallbacks, failure: null };
    } catch (cause) {
      return this.whole(request, storeFailure(cause));
    }
  }

  /** Replays recorded cuts, keeps new texts whole, and reports the cause. */
  whole(received: ReadRequest, cause: unknown): DecidedTexts {
    const request = withoutOrphans(received);
    const reason = cause === TIMED_OUT ? ('timeout' satisfies FallbackCode) : reasonOf(cause);
    this.#options.onFailure(reason, cause);
    return { decisions: request.known.sent, fresh: [], fallbacks: [reason], failure: cause };
  }

  /** Decides about texts of a request without the store and without recording anything. */
  *dry(request: ReadRequest, texts = request.found): Work<Map<FoundText, Decision>> {
    const open = texts.filter(({ skip }) => skip === '');
    const decisions = yield* this.#options.decisions.decideDry(open.map(({ job }) => job));
    const decided = new Map(
      open.flatMap((text, i): [FoundText, Decision][] => {
        const decision = decisions[i];
        return decision ? [[text, decision]] : [];
      }),
    );
    this.#decideRepeats(request, open, decided);
    warnOnce(request, open, decided);
    return decided;
  }

  /** Cuts repeats among new texts. @returns the new decisions */
  #decideRepeats(
    request: ReadRequest,
    texts: readonly FoundText[],
    decisions: Map<FoundText, Decision>,
  ): NewDecision[] {
    return mayRepeat(request, this.#options.repeats) ? new Repeats(request).decide(texts, decisions) : [];
  }

  /** Decides about the texts of a request; `null` if that takes too long. */
  *#decideTexts({ found, known, read, scope, binding }: ReadRequest): Work<DecidedTexts | null> {
    const { decisions, onFailure } = this.#options;
    const { sent, fixed, ahead } = known;
    const context = { store: this.#asSeenBy(scope.project), decisions, sent, fixed, ahead: ahead ?? undefined };
    const deciding = run(decideTexts(found, read.outcomesBefore, decisions.backendDeadline(), context));
    if (!(deciding instanceof Promise)) return deciding;
    const patience = decisions.patienceOf(binding !== 'free');
    return yield* waitFor(within(deciding, patience, (cause) => onFailure('decided_too_late', cause)));
  }

  /**
   * Handles a request whose unpruned history the provider rejected while the store is unavailable. Answered texts are
   * pruned again, exactly as when they were new. If the provider accepts the result, the cuts equal the earlier ones,
   * so their originals are already stored.
   */
  *#repruned(request: ReadRequest): Work<DecidedTexts> {
    const { found, known, read } = request;
    const answered = yield* this.dry(
      request,
      found.filter(({ messageIndex }) => messageIndex < read.tail),
    );
    const decisions = new Map([...answered, ...known.sent]);
    return { decisions, fresh: [], fallbacks: [reasonOf(known.failure)], failure: known.failure };
  }

  /** Restricts the store's view to a project: markers of other projects count as unknown. */
  #asSeenBy(project: string): DecideContext['store'] {
    const { store, owners } = this.#options;
    if (owners === undefined) return store;
    return {
      lookUp: (query) => store.lookUp(query),
      knownPruneIds: async (ids) => store.knownPruneIds(await run(owners.ownedBy(project, ids))),
    };
  }
}

/** Decisions about the texts of one request. */
export interface DecidedTexts {
  readonly decisions: ReadonlyMap<FoundText, Decision>;
  /** New decisions with their originals. They must be durable before any part of them is sent. */
  readonly fresh: readonly NewDecision[];
  /** Codes of time-outs and of backend failures. */
  readonly fallbacks: readonly string[];
  /** Why no new decisions were made: a store failure or `TIMED_OUT`. `null` if they were made. */
  readonly failure: unknown;
}

/** Dependencies of `decideTexts`, and texts that are already decided. */
interface DecideContext {
  readonly store: Pick<Store, 'lookUp' | 'knownPruneIds'>;
  readonly decisions: DecisionMaker;
  /** What was looked up with the records of the request. */
  readonly ahead: LookedUpAhead | undefined;
  /** Recorded cuts to replay. */
  readonly sent: ReadonlyMap<FoundText, Decision>;
  /** Texts that stay whole unless a decision is stored. */
  readonly fixed: ReadonlySet<FoundText>;
}

/**
 * Decides about all texts, in this order: deleted texts; past texts with a stored decision; texts without markers;
 * texts with markers, each after the texts that its markers may refer to. Texts that contain our markers, and texts
 * that `recover_text` has returned, stay whole unless a decision is stored.
 *
 * @param outcomesBefore - outcomes of texts in earlier messages
 * @throws StoreUnavailable
 */
function* decideTexts(
  found: readonly FoundText[],
  outcomesBefore: readonly TextOutcome[],
  backendDeadline: number,
  context: DecideContext,
): Work<DecidedTexts> {
  const { store, decisions, ahead, sent, fixed } = context;
  const results = new Map<FoundText, Decision>(sent);
  const fallbacks: string[] = [];
  const fresh: NewDecision[] = [];
  const decided = { decisions: results, fallbacks, fresh, failure: null };
  // a deleted text must not be stored again
  for (const text of found) {
    const { job } = text;
    if (job.cutWhole?.kind === 'deleted') results.set(text, decide(job, job.cutWhole.key, NEVER));
  }
  for (const [text, decision] of yield* decidedBefore([...fixed], context)) results.set(text, decision);
  const open = found.filter((text) => text.skip === '' && !results.has(text) && !fixed.has(text));
  if (open.length === 0) return decided;
  const hashes = open.flatMap(({ job, around }) => [job.textHash, ...around]);
  const isAhead = ahead !== undefined && hashes.every((hash) => ahead.hashes.has(hash));
  const { served } = isAhead ? ahead : yield* waitFor(store.lookUp({ hashes }));
  const wasServed = ({ job, around }: FoundText): boolean =>
    served.has(job.textHash) || around.some((hash) => served.has(hash));
  const decideGroup = function* (texts: readonly FoundText[], whole: WhyWhole): Work<void> {
    const made = yield* decideSome(texts, results, whole, backendDeadline, context);
    fallbacks.push(...made.fallbacks);
    fresh.push(...made.fresh);
  };
  const plain = open.filter(({ markerIds }) => markerIds.length === 0);
  const marked = open.filter(({ markerIds }) => markerIds.length > 0);
  const known =
    marked.length > 0
      ? yield* waitFor(
          store.knownPruneIds(
            [...new Set(marked.flatMap(({ markerIds }) => markerIds))].filter((id) => id !== SHORT_ID),
          ),
        )
      : new Set<string>();
  for (const { pruneId } of outcomesBefore) if (pruneId) known.add(pruneId);
  for (const { pruneId } of sent.values()) if (pruneId) known.add(pruneId);
  yield* decideGroup(plain, (text) => wasServed(text) && 'recovered');
  const idOf = (job: Job): string => decisions.pruneIdOf(job);
  for (const rest = new Set(marked); rest.size > 0; ) {
    const decidable = decidableTexts({ open, rest, results, known, idOf });
    yield* decideGroup(
      [...decidable.keys()],
      (text) => (decidable.get(text) && 'carries_markers') || (wasServed(text) && 'recovered'),
    );
    for (const text of decidable.keys()) rest.delete(text);
  }
  return decided;
}

/** Finds decisions made when texts were new. */
function* decidedBefore(
  texts: readonly FoundText[],
  { decisions, ahead }: DecideContext,
): Work<readonly (readonly [FoundText, Decision])[]> {
  if (texts.length === 0) return [];
  const known = yield* decisions.decided(
    texts.map(({ job }) => job),
    ahead,
  );
  return texts.flatMap((text) => {
    const found = known.get(text.job);
    return found ? [[text, found] as const] : [];
  });
}

/** Reason to keep a text whole if it has no stored decision; `false` if it may be pruned. */
type WhyWhole = (text: FoundText) => string | false;

const NEVER = (): boolean => false;

/** Decides about some texts and adds the decisions to `results`. */
function* decideSome(
  texts: readonly FoundText[],
  results: Map<FoundText, Decision>,
  whole: WhyWhole,
  backendDeadline: number,
  { decisions, ahead }: DecideContext,
): Work<Decided> {
  const reasons = texts.map((text) => (text.job.keepWhole === undefined ? whole(text) : false));
  const doubtful = texts.flatMap(({ job }, i) => (reasons[i] ? job : []));
  const decided = doubtful.length > 0 ? yield* decisions.decided(doubtful, ahead) : new Map<Job, Decision>();
  const jobs = texts.map(({ job }, i): Job => {
    const keepWhole = reasons[i];
    return keepWhole && !decided.has(job) ? { ...job, keepWhole } : job;
  });
  const made = yield* decisions.decideAll(jobs, backendDeadline, ahead);
  texts.forEach((text, i) => {
    const decision = made.decisions[i];
    if (decision) results.set(text, decision);
  });
  return made;
}
