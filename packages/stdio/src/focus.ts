import type { FailureReporter } from 'mcp-pruner/base/failures.ts';

/** Reduces a tool's output to the lines that answer a question. */
interface FocusPruner {
  /**
   * @param code - the output
   * @param query - the agent's question, verbatim
   * @throws the error that prevented pruning
   */
  prune(code: string, query: string, signal: AbortSignal): Promise<string>;
}

interface FocusOptions {
  /** `null` if pruning is disabled. */
  readonly pruner: FocusPruner | null;
  /** Called with the reason if an output is returned whole. */
  readonly onFailure: FailureReporter;
}

/** Prunes the output for the question. Returns the whole output if there is no question, or after an error. */
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
