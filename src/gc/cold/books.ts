import type { FailureReporter } from '../../base/failures.ts';
import type { LedgerStore, SumGroup } from '../../core/ports/ledger-store.ts';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { ResultMarks } from '../../core/ports/result-marks.ts';
import type { Clock } from '../../core/ports.ts';
import type { ColdCause } from './cold-moments.ts';
import type { LastAnswers } from './last-answers.ts';

/**
 * The figures of the slice `cold` of the ledger, whose keys are models. `moment:` counts what happened, by its cause.
 */
type Figures = Record<'conversations' | 'results' | 'tokens' | 'recovered' | `moment:${ColdCause}`, number>;

export interface ColdBooksOptions {
  readonly answers: LastAnswers;
  readonly marks: ResultMarks;
  readonly ledger: Pick<LedgerStore, 'cutIn'>;
  readonly clock: Clock;
  readonly count: (sums: readonly SumGroup[]) => void;
  readonly onFailure: FailureReporter;
}

/** The parts of an answered request that these books need. */
export interface AnsweredRequest {
  readonly facts: RequestFacts;
  readonly atMs: number;
  /** The provider is on this machine or its network. */
  readonly isLocal: boolean;
}

/** The project of recoveries whose result the store no longer connects with a conversation. */
const UNKNOWN_PROJECT = 'default';

/** Books the results that were put aside, and those that came back. What they save is part of a request's bill. */
export class ColdBooks {
  readonly #options: ColdBooksOptions;
  /** Recoveries are booked in turn, so that each finds the marks of the one before. */
  #booked: Promise<void> = Promise.resolve();

  constructor(options: ColdBooksOptions) {
    this.#options = options;
  }

  /**
   * Records an answer, after which the cache of its conversation is warm again.
   *
   * @returns tokens that would have been put aside at its request
   */
  answered({ facts, atMs, isLocal }: AnsweredRequest): number {
    const { answers } = this.#options;
    answers.note(facts, atMs, isLocal);
    this.recovered(facts.regrets.flatMap(({ how, pruneId }) => (how === 'recovered' && pruneId ? pruneId : [])));
    return answers.takeMeasured(facts.project, facts.conversationId);
  }

  /** Books results that were put aside, or with `measure` would have been. */
  putAside(
    project: string,
    model: string,
    fields: Pick<Figures, 'conversations' | 'results' | 'tokens'>,
    cause: ColdCause,
  ): void {
    this.#count(project, model, { ...fields, [`moment:${cause}`]: 1 });
  }

  /** Records that lines of originals were given out. Returns at once; nothing is booked if the store fails. */
  recovered(pruneIds: readonly string[]): void {
    const { marks, ledger, onFailure } = this.#options;
    if (pruneIds.length === 0) return;
    const book = async (): Promise<void> => {
      for (const pruneId of await marks.noteGivenOut(pruneIds)) {
        const place = await ledger.cutIn(pruneId);
        this.#count(place?.project ?? UNKNOWN_PROJECT, place?.newest?.model ?? '', { recovered: 1 });
      }
    };
    this.#booked = this.#booked.then(book).catch((cause: unknown) => onFailure('recovery_not_noted', cause));
  }

  /** Resolves when all recoveries so far are booked. Never rejects. */
  flush(): Promise<void> {
    return this.#booked;
  }

  #count(project: string, key: string, fields: Partial<Figures>): void {
    const day = new Date(this.#options.clock.nowMs()).toISOString().slice(0, 10);
    this.#options.count([{ day, project, slice: 'cold', key, fields }]);
  }
}
