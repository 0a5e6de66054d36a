import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { LedgerStore, SumGroup } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { ResultMarks } from 'mcp-pruner/core/ports/result-marks.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { ColdCause } from './cold-moments.ts';
import type { LastAnswers } from './last-answers.ts';

/** Figures of the ledger slice `cold`, keyed by model. `moment:` counts events by cause. */
type Figures = Record<'conversations' | 'results' | 'tokens' | 'recovered' | `moment:${ColdCause}`, number>;

interface ColdBooksOptions {
  readonly answers: LastAnswers;
  readonly marks: ResultMarks;
  readonly ledger: LedgerStore;
  readonly clock: Clock;
  readonly count: (sums: readonly SumGroup[]) => void;
  readonly onFailure: FailureReporter;
}

/** Fields of an answered request that are used here. */
interface AnsweredRequest {
  readonly facts: RequestFacts;
  /** When its answer ended, and the time since it arrived. */
  readonly atMs: number;
  readonly tookMs: number;
  /** Whether the provider is on this machine or the local network. */
  readonly isLocal: boolean;
}

/** Project for recoveries of results that the store can no longer assign to a conversation. */
const UNKNOWN_PROJECT = 'default';

/** Counts results that were put aside, and recoveries of them. The savings are part of a request's bill. */
export class ColdBooks {
  readonly #options: ColdBooksOptions;
  /** Serialises recoveries, so that each sees the marks of the previous one. */
  #booked: Promise<void> = Promise.resolve();

  constructor(options: ColdBooksOptions) {
    this.#options = options;
  }

  /**
   * Records an answer, which makes the conversation's cache warm again.
   *
   * @returns tokens that would have been put aside in its request
   */
  answered({ facts, atMs, tookMs, isLocal }: AnsweredRequest): number {
    const { answers } = this.#options;
    answers.note(facts, atMs, isLocal, tookMs);
    this.recovered(facts.regrets.flatMap(({ how, pruneId }) => (how === 'recovered' && pruneId ? pruneId : [])));
    return answers.takeMeasured(facts.project, facts.conversationId);
  }

  /** Counts results that were put aside or, with `measure`, would have been. */
  putAside(
    project: string,
    model: string,
    fields: Pick<Figures, 'conversations' | 'results' | 'tokens'>,
    cause: ColdCause,
  ): void {
    this.#count(project, model, { ...fields, [`moment:${cause}`]: 1 });
  }

  /** Records that lines of originals were recovered. Returns at once; nothing is counted if the store fails. */
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

  /** Resolves when all recoveries so far are counted. Never rejects. */
  flush(): Promise<void> {
    return this.#booked;
  }

  #count(project: string, key: string, fields: Partial<Figures>): void {
    const day = new Date(this.#options.clock.nowMs()).toISOString().slice(0, 10);
    this.#options.count([{ day, project, slice: 'cold', key, fields }]);
  }
}
