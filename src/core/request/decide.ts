import { type FallbackCode, StoreUnavailable } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import { decide, type Job } from '../decide/decision.ts';
import type { Decided, DecisionMaker } from '../decide/decision-maker.ts';
import { ripeTexts, SHORT_ID } from '../decide/own-markers.ts';
import { TIMED_OUT, within } from '../decide/turns.ts';
import { reasonOf } from '../failure-reason.ts';
import type { Ownership } from '../ownership.ts';
import type { Decision, NewDecision, Store } from '../ports.ts';
import { lostOriginals } from '../sent/history.ts';
import type { FoundText } from './find-texts.ts';
import type { TextOutcome } from './prefix-memo.ts';
import type { DecidedRequest, DirectedRequest } from './request.ts';

export interface DecideOptions {
  readonly store: Store;
  readonly decisions: DecisionMaker;
  /** Where originals belong to projects. */
  readonly owners?: Ownership | undefined;
  readonly onFailure: FailureReporter;
}

/** Decides about the texts of a request. Where that fails, new texts stay whole and recorded cuts are replayed. */
export class DecideStage {
  readonly #options: DecideOptions;

  constructor(options: DecideOptions) {
    this.#options = options;
  }

  async run(request: DirectedRequest): Promise<DecidedRequest> {
    const { known, found, policy } = request;
    if (known.failure !== null) {
      return policy.history === 're-prune' ? this.#repruned(request) : this.whole(request, known.failure);
    }
    if (found.length === 0) return { request, decisions: known.sent, fresh: [], fallbacks: [], failure: null };
    try {
      const lost = await lostOriginals(found, known.sent, this.#options.store);
      const settled = await this.#settle(request);
      if (!settled) return this.whole(request, TIMED_OUT);
      const { results, fresh, fallbacks } = settled;
      const unique = new Map([...lost, ...fresh].map((one) => [one.decision.key, one]));
      return { request, decisions: results, fresh: [...unique.values()], fallbacks, failure: null };
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      return this.whole(request, cause);
    }
  }

  /** A request whose recorded cuts are replayed and whose new texts stay whole; reports the cause. */
  whole(request: DirectedRequest, cause: unknown): DecidedRequest {
    const reason = cause === TIMED_OUT ? ('timeout' satisfies FallbackCode) : reasonOf(cause);
    this.#options.onFailure(reason, cause);
    return { request, decisions: request.known.sent, fresh: [], fallbacks: [reason], failure: cause };
  }

  /** Decides about all texts without the store and records nothing. */
  async dry(texts: readonly FoundText[]): Promise<Map<FoundText, Decision>> {
    const open = texts.filter(({ skip }) => skip === '');
    const decisions = await this.#options.decisions.decideDry(open.map(({ job }) => job));
    return new Map(
      open.flatMap((text, i): [FoundText, Decision][] => {
        const decision = decisions[i];
        return decision ? [[text, decision]] : [];
      }),
    );
  }

  /** Decisions about the texts of a request; `null` where they take too long. */
  #settle({ found, known, read, scope }: DirectedRequest): Promise<Settled | null> {
    const { decisions, onFailure } = this.#options;
    const settlers = { store: this.#asSeenBy(scope.project), decisions, sent: known.sent, fixed: known.fixed };
    const settling = settleTexts(found, read.outcomesBefore, decisions.deadline(), settlers);
    return within(settling, decisions.patienceMs, (cause) => onFailure('decided_too_late', cause));
  }

  /**
   * The provider rejected the unpruned history while the store cannot be asked. The answered texts are pruned as they were
   * when they were new; a provider that accepts the request confirms it, and the earlier run has stored the originals.
   */
  async #repruned(request: DirectedRequest): Promise<DecidedRequest> {
    const { found, known, read } = request;
    const answered = await this.dry(found.filter(({ messageIndex }) => messageIndex < read.tail));
    const decisions = new Map([...answered, ...known.sent]);
    return { request, decisions, fresh: [], fallbacks: [reasonOf(known.failure)], failure: known.failure };
  }

  /** Another project's marker counts as unknown. */
  #asSeenBy(project: string): Pick<Store, 'wasServed' | 'knownPruneIds'> {
    const { store, owners } = this.#options;
    if (owners === undefined) return store;
    return {
      wasServed: (hashes) => store.wasServed(hashes),
      knownPruneIds: async (ids) => store.knownPruneIds(await owners.among(project, ids)),
    };
  }
}

/** Decisions about the texts of one request. */
interface Settled {
  readonly results: ReadonlyMap<FoundText, Decision>;
  /** Decisions that must be made durable before anything of them is sent. */
  readonly fresh: readonly NewDecision[];
  /** Codes of backends that failed. */
  readonly fallbacks: readonly string[];
}

/** What decisions are made from, and the texts that are settled already. */
interface Settlers {
  readonly store: Pick<Store, 'wasServed' | 'knownPruneIds'>;
  readonly decisions: DecisionMaker;
  /** Recorded cuts; they are replayed. */
  readonly sent: ReadonlyMap<FoundText, Decision>;
  /** Texts that stay whole unless a decision is stored. */
  readonly fixed: ReadonlySet<FoundText>;
}

/**
 * Decides about all texts. Texts that carry our markers, and texts that `recover_text` has returned, stay whole unless a
 * decision was made before.
 *
 * @param outcomesBefore - the outcomes of texts of earlier messages
 * @throws StoreUnavailable
 */
async function settleTexts(
  found: readonly FoundText[],
  outcomesBefore: readonly TextOutcome[],
  deadline: number,
  { store, decisions, sent, fixed }: Settlers,
): Promise<Settled> {
  const results = new Map<FoundText, Decision>(sent);
  const fallbacks: string[] = [];
  const fresh: NewDecision[] = [];
  const settled = { results, fallbacks, fresh };
  // a deleted text must not be stored again
  for (const text of found) {
    const { job } = text;
    if (job.cutWhole?.kind === 'deleted') results.set(text, decide(job, job.cutWhole.key, NEVER));
  }
  for (const [text, decision] of await decidedBefore([...fixed], decisions)) results.set(text, decision);
  const open = found.filter((text) => text.skip === '' && !results.has(text) && !fixed.has(text));
  if (open.length === 0) return settled;
  const served = await store.wasServed(open.flatMap(({ job, around }) => [job.textHash, ...around]));
  const wasServed = ({ job, around }: FoundText): boolean =>
    served.has(job.textHash) || around.some((hash) => served.has(hash));
  const settle = async (texts: readonly FoundText[], whole: WhyWhole): Promise<void> => {
    const made = await settleSome(texts, results, whole, deadline, decisions);
    fallbacks.push(...made.fallbacks);
    fresh.push(...made.fresh);
  };
  const plain = open.filter(({ markerIds }) => markerIds.length === 0);
  const marked = open.filter(({ markerIds }) => markerIds.length > 0);
  const known =
    marked.length > 0
      ? await store.knownPruneIds(
          [...new Set(marked.flatMap(({ markerIds }) => markerIds))].filter((id) => id !== SHORT_ID),
        )
      : new Set<string>();
  for (const { pruneId } of outcomesBefore) if (pruneId) known.add(pruneId);
  for (const { pruneId } of sent.values()) if (pruneId) known.add(pruneId);
  await settle(plain, (text) => wasServed(text) && 'recovered');
  const idOf = (job: Job): string => decisions.pruneIdOf(job);
  for (const rest = new Set(marked); rest.size > 0; ) {
    const ripe = ripeTexts({ open, rest, results, known, idOf });
    await settle([...ripe.keys()], (text) => (ripe.get(text) && 'carries_markers') || (wasServed(text) && 'recovered'));
    for (const text of ripe.keys()) rest.delete(text);
  }
  return settled;
}

/**
 * Decisions made about texts when they were new. They are looked up at every level of boldness, because the level used
 * then is not recorded. If a text was left whole at any level it stays whole, since that may be how it was sent.
 */
async function decidedBefore(
  texts: readonly FoundText[],
  decisions: DecisionMaker,
): Promise<readonly (readonly [FoundText, Decision])[]> {
  if (texts.length === 0) return [];
  const jobs = new Map(texts.map((text) => [text, atEachBoldness(text.job)]));
  const known = await decisions.decided([...jobs.values()].flat());
  return texts.flatMap((text) => {
    const found = (jobs.get(text) ?? []).flatMap((job) => known.get(job) ?? []);
    const first = found.find(({ pruneId }) => pruneId === null) ?? found[0];
    return first ? [[text, first] as const] : [];
  });
}

function atEachBoldness(job: Job): readonly Job[] {
  const { boldness } = job;
  return boldness === undefined ? [job] : BOLDNESS.map((step) => ({ ...job, boldness: { ...boldness, step } }));
}

/** All boldness steps, the mildest first. */
const BOLDNESS = [-2, -1, 0, 1, 2];

/** Why a text stays whole, if it was not pruned before; `false` when nothing speaks against pruning it. */
type WhyWhole = (text: FoundText) => string | false;

const NEVER = (): boolean => false;

/** Adds the decisions to `results`. */
async function settleSome(
  texts: readonly FoundText[],
  results: Map<FoundText, Decision>,
  whole: WhyWhole,
  deadline: number,
  decisions: DecisionMaker,
): Promise<Decided> {
  const reasons = texts.map((text) => (text.job.keepWhole === undefined ? whole(text) : false));
  const doubtful = texts.flatMap(({ job }, i) => (reasons[i] ? job : []));
  const decided = doubtful.length > 0 ? await decisions.decided(doubtful) : new Map<Job, Decision>();
  const jobs = texts.map(({ job }, i): Job => {
    const keepWhole = reasons[i];
    return keepWhole && !decided.has(job) ? { ...job, keepWhole } : job;
  });
  const made = await decisions.decideAll(jobs, deadline);
  texts.forEach((text, i) => {
    const decision = made.decisions[i];
    if (decision) results.set(text, decision);
  });
  return made;
}
