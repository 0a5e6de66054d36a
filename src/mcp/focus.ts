import type { FailureReporter } from '../failures.ts';
/** Shortens the output of a tool to what answers a question. */
export interface FocusPruner {
  /**
   * @param code - the output
   * @param query - the question, word for word as the agent asked it
   * @throws whatever kept it from answering
   */
  prune(code: string, query: string, signal: AbortSignal): Promise<string>;
}

export interface FocusOptions {
  /** `null` when pruning is switched off. */
  readonly pruner: FocusPruner | null;
  /** Told why an output went back whole. */
  readonly onFailure: FailureReporter;
}

/** The output as it was asked for: shortened to the question, or whole without one and whenever anything goes wrong. */
export type Focus = (output: string, question: string | undefined, signal: AbortSignal) => Promise<string>;

export function createFocus({ pruner, onFailure }: FocusOptions): Focus {
  return async (output, question, signal) => {
    if (!question || pruner === null) return output;
    try {
      return await pruner.prune(output, question, signal);
    } catch (cause) {
      if (!signal.aborted) onFailure('pruner_failed', cause);
      return output;
    }
  };
}
