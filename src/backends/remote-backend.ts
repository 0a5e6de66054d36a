import type { ScoreRequest } from '../core/ports.ts';

/** A service's answer for a text. */
export interface Answer {
  /** As `PruneInput.externalScores`, one for each line. */
  readonly opinions: Float64Array;
  /** Lines that the service itself judged. */
  readonly scored: number;
  /** The HTTP status; `null` when there was nothing to ask about and no call was made. */
  readonly status: number | null;
}

/** How one call may be spent. */
export interface CallLimits {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** A service that scores lines. `RemoteScorer` adds cache, time limits, breaker and reports. */
export interface RemoteBackend {
  /** Its name in the settings. */
  readonly name: string;
  /** The prefix of its warnings and stats. */
  readonly prefix: string;
  /** Identifies everything that influences its answers besides text, goal and source type. */
  readonly identity: string;
  /** Longest time for one call, in milliseconds. */
  readonly timeoutMs: number;
  /** Whether all that it needs is set. */
  readonly configured: boolean;
  /**
   * Asks once.
   *
   * @throws CallFailure
   */
  ask(request: ScoreRequest, limits: CallLimits): Promise<Answer>;
}
