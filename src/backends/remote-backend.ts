import type { ScoreRequest } from '../core/ports.ts';

/** Answer of a remote scoring service for one text. */
export interface Answer {
  /** See `PruneInput.externalScores`; one per line. */
  readonly opinions: Float64Array;
  /** Number of lines judged by the service itself. */
  readonly scored: number;
  /** HTTP status; `null` if no call was needed. */
  readonly status: number | null;
}

/** Limits of one call. */
export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A service that scores lines. `RemoteScorer` adds cache, time limits, breaker and reports. */
export interface RemoteBackend {
  /** Name in the settings. */
  readonly name: string;
  /** Prefix of warnings and stats. */
  readonly prefix: string;
  /** Identifies everything that influences answers besides text, goal and source type. */
  readonly identity: string;
  /** Time limit of one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether all required settings are present. */
  readonly configured: boolean;
  /**
   * Makes one call.
   *
   * @throws CallFailure
   */
  ask(request: ScoreRequest, limits: CallLimits): Promise<Answer>;
}
