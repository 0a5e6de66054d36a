import { type FallbackCode, StoreUnavailable } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import { type Settled, settleTexts } from '../decide/for-request.ts';
import { reasonOf } from '../failure-reason.ts';
import type { Ownership } from '../ownership.ts';
import type { Decision, Store } from '../ports.ts';
import { lostOriginals } from '../sent/history.ts';
import { TIMED_OUT, within } from '../within.ts';
import type { FoundText } from './find-texts.ts';
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
