import type { CollectedRequest, Collector, OverTokenBudget } from 'mcp-pruner/core/ports/segments.ts';

/** A reason to stash parts of conversations, with the steps that follow from it. */
export interface StepTaker {
  /** Whether a request may require a step. Cheap. */
  mayNeedStep(request: CollectedRequest): boolean;
  /** See `TakeStep`. */
  collect(over: OverTokenBudget): Promise<boolean>;
  /** See `Collector.refused`. */
  refused?(request: CollectedRequest): void;
}

interface StepTakers {
  /** Acts when the provider's cache is cold. */
  readonly cold?: StepTaker | undefined;
  /** Keeps conversations within a token budget. */
  readonly budget?: StepTaker | undefined;
  /** Acts when that saves money. */
  readonly paying?: StepTaker | undefined;
  readonly sending: Collector['sending'];
}

/** Joins the reasons: the first that may require a step takes it. */
export function collectorOf({ cold, budget, paying, sending }: StepTakers): Collector {
  const takers = [cold, budget, paying].filter((one) => one !== undefined);
  return {
    counts: budget !== undefined,
    stepFor(request) {
      const taker = takers.find((one) => one.mayNeedStep(request));
      return taker ? (over) => taker.collect(over) : null;
    },
    refused(request) {
      for (const taker of takers) taker.refused?.(request);
    },
    isOver: (request) => budget?.mayNeedStep(request) === true,
    sending,
  };
}
