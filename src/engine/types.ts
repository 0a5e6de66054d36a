import type { ReasonLanguage } from './text/reasons.ts';

/** The source types of the contract. The engine recognises finer kinds within them. */
export type SourceType = 'code' | 'logs' | 'docs';

/**
 * The origin of a text, which limits how boldly it is cut. `read`: a file that the agent may edit next (whole blocks
 * only). `command`: program output. `search`: a grep-like result. `listing`: file names. `unknown`: everything else.
 */
export type Origin = 'read' | 'command' | 'search' | 'listing' | 'unknown';

/** Facts about a text, given by the caller. All of them influence the decision and are part of its key. */
export interface Hints {
  readonly origin: Origin;
  readonly path?: string;
  readonly command?: string;
  /** Number of header and footer lines that a client put around the text; they always stay. */
  readonly frameHead?: number;
  readonly frameTail?: number;
  /** Lines that were recovered earlier in the conversation; they always stay. */
  readonly served?: readonly LineRange[];
  /** The call contains a question (`context_focus_question`), so the caller wants the answer, not the text. */
  readonly question?: boolean;
}

export interface Limits {
  /** Largest share of the lines that may be cut, 0..1. */
  readonly maxPruneRatio: number;
  /** Minimum number of lines that stay. */
  readonly minKeepLines: number;
}

export interface PruneInput {
  readonly text: string;
  /** What the reader wants to know. If empty, lines are ranked by their information alone. */
  readonly goal: string;
  /** Default: detected from the hints and the text. */
  readonly sourceType?: SourceType;
  readonly hints?: Hints;
  readonly limits: Limits;
  /** The caller explicitly requested this cut and set the limits, so the origin is no reason to cut less. */
  readonly asked?: boolean;
  /** The text is short: only repetitive kinds are cut, and a smaller saving is enough. */
  readonly small?: boolean;
  /** Another backend's score per line: 1 must stay, 0 is noise, 0.5 and `NaN` mean no opinion; index 0 is line 1. */
  readonly externalScores?: Float64Array;
  /** Language of the reasons. Default: French. It never changes a cut. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Called between stages; `true` aborts with `timeout`. */
  readonly shouldStop?: () => boolean;
}

/** A block of lines to cut, 1-based and inclusive. `reason` is short, one line, free of `⟦` and `⟧`. */
export interface Cut {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  /**
   * The marker must be full, because a kept line above looks like a full marker, whose id a short one would seem to
   * refer to. Stored with the cut, so that sent bytes never change.
   */
  readonly full?: true;
}

/** Warning codes of a plan, as in the contract. The engine itself returns only the first two. */
export type PlanWarning = 'timeout' | 'constraints_unmet' | 'internal_error';

/** The engine's result: lines to cut, with reasons. Cuts are ordered and neither overlap nor touch. */
export interface Plan {
  readonly sourceType: SourceType;
  /** The finer kind, such as `python`, `test-run`, `grep`, `diff`, `json`. */
  readonly kind: string;
  readonly lineCount: number;
  readonly cuts: readonly Cut[];
  readonly warnings: readonly PlanWarning[];
  /** The text is a file or a document, which is cut only if that saves much. Absent if it was not analysed. */
  readonly isFile?: boolean;
}

/** Inclusive 1-based line range. */
export interface LineRange {
  readonly startLine: number;
  readonly endLine: number;
}
