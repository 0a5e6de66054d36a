import type { ReasonLanguage } from './text/reasons.ts';

/** What a text is to the contract. Inside it the engine recognises finer kinds. */
export type SourceType = 'code' | 'logs' | 'docs';

/**
 * How a text came into the conversation, which sets how bold a cut may be:
 * `read` is a file that the agent may be about to edit (whole blocks only), `command` the output of a program,
 * `search` a grep-like result, `listing` file names, `unknown` everything else.
 */
export type Origin = 'read' | 'command' | 'search' | 'listing' | 'unknown';

/** What the caller knows of a text besides the text; all of it takes part in the decision and in its key. */
export interface Hints {
  readonly origin: Origin;
  /** Path of the file that the text is, as the tool call or the block's frame gives it. */
  readonly path?: string;
  /** The shell command whose output the text is. */
  readonly command?: string;
  /** Lines at the start and the end that a client put around the text (headers, footers); they always stay. */
  readonly frameHead?: number;
  readonly frameTail?: number;
  /** The call itself asks a question (`context_focus_question`): its answer is wanted, not the text. */
  readonly question?: boolean;
}

/** Bounds of a result: constraints, not preferences. */
export interface Limits {
  /** Largest share of the lines that may go, 0..1. */
  readonly maxPruneRatio: number;
  /** Fewest lines that stay. */
  readonly minKeepLines: number;
}

export interface PruneInput {
  readonly text: string;
  /** What the reader is after. May be empty: then lines are ranked by information alone. */
  readonly goal: string;
  /** Absent: recognised from the hints and the text. */
  readonly sourceType?: SourceType;
  readonly hints?: Hints;
  readonly limits: Limits;
  /** Somebody asked for this very text to be cut and named the limits: how it came is no reason to cut less. */
  readonly asked?: boolean;
  /** Steps that it is cut more boldly (above 0) or more mildly (below) than as configured; -2 to 2, 0 where it is absent. */
  readonly boldness?: number;
  /** The text is so short that only kinds that repeat themselves are cut, and for less. */
  readonly small?: boolean;
  /** What another backend thinks of each line: 1 must stay, 0 is noise, 0.5 and `NaN` say nothing; index 0 is line 1. */
  readonly externalScores?: Float64Array;
  /** Language of the cuts' reasons, French where it is absent. It changes words, never a cut. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Asked between stages and now and then inside long ones; `true` ends the work with `timeout`. */
  readonly shouldStop?: () => boolean;
}

/** A block of lines that goes, 1-based and inclusive. `reason` is short, one line, free of `⟦` and `⟧`. */
export interface Cut {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
}

/** Warning codes of the contract that the engine itself can give. */
export type PlanWarning = 'timeout' | 'constraints_unmet' | 'internal_error';

/** The engine's answer: which lines go, and why. Cuts are in order and neither overlap nor touch. */
export interface Plan {
  readonly sourceType: SourceType;
  /** The finer kind, such as `python`, `test-run`, `grep`, `diff`, `json`. */
  readonly kind: string;
  readonly lineCount: number;
  readonly cuts: readonly Cut[];
  readonly warnings: readonly PlanWarning[];
}

/** Inclusive 1-based line range. */
export interface LineRange {
  readonly startLine: number;
  readonly endLine: number;
}
