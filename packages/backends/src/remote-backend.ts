import type { ScoreRequest } from 'mcp-pruner/core/ports.ts';

export interface LineOpinions {
  /** See `PruneInput.externalScores`; one per line. */
  readonly opinions: Float64Array;
  /** Number of lines judged by the service itself. */
  readonly scored: number;
  /** HTTP status; `null` if no call was needed. */
  readonly status: number | null;
}

export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A service that scores lines. `RemoteScorer` adds cache, time limits, breaker and reports. */
export interface RemoteBackend {
  readonly name: string;
  /** Prefix of warnings and stats. */
  readonly prefix: string;
  /** Identifies everything that influences answers besides text, goal and source type. */
  readonly identity: string;
  readonly timeoutMs: number;
  readonly configured: boolean;
  /**
   * Makes one call.
   *
   * @throws CallFailure
   */
  ask(request: ScoreRequest, limits: CallLimits): Promise<LineOpinions>;
}
