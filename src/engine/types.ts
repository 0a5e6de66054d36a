import type { ReasonLanguage } from './text/reasons.ts';

/** The source types of the contract. The engine recognises finer kinds within them. */
export type SourceType = 'code' | 'logs' | 'docs';

/**
 * The origin of a text, which limits how boldly it is cut: `read` is a file that the agent may be about to edit (whole
 * blocks only), `command` the output of a program, `search` a grep-like result, `listing` file names, `unknown`
 * everything else.
 */
export type Origin = 'read' | 'command' | 'search' | 'listing' | 'unknown';

/** Facts about a text from the caller. Each of them influences the decision and is part of its key. */
export interface Hints {
  readonly origin: Origin;
  /** Path of the file, as given by the tool call or the block's frame. */
  readonly path?: string;
  /** The shell command whose output the text is. */
  readonly command?: string;
  /** Lines at the start and the end that a client put around the text (headers, footers); they always stay. */
  readonly frameHead?: number;
  readonly frameTail?: number;
  /** Lines that were recovered earlier in the conversation; they always stay. */
  readonly served?: readonly LineRange[];
  /** The call asks a question (`context_focus_question`): the caller wants the answer, not the text. */
  readonly question?: boolean;
}

/** Bounds of a result: constraints, not preferences. */
export interface Limits {
  /** Largest share of the lines that may be cut, 0..1. */
  readonly maxPruneRatio: number;
  /** Minimum number of lines that stay. */
  readonly minKeepLines: number;
}

/** How boldly texts are cut, beyond the default (`careful`). */
export type Dial = 'balanced' | 'bold';

export interface PruneInput {
  readonly text: string;
  /** What the reader wants to know. If it is empty, lines are ranked by their information alone. */
  readonly goal: string;
  /** Absent: recognised from the hints and the text. */
  readonly sourceType?: SourceType;
  readonly hints?: Hints;
  readonly limits: Limits;
  /** The caller asked for this text to be cut and set the limits, so that its origin is no reason to cut less. */
  readonly asked?: boolean;
  /**
   * Number of steps by which the text is cut more boldly (above 0) or more mildly (below 0) than configured; -2 to 2.
   * Default: 0.
   */
  readonly boldness?: number;
  /**
   * `balanced`: output of 4,000 characters and more that would pass whole is cut. `bold`: files too, if that saves 1,500
   * tokens. Absent: careful, unless the call asks a question, which is an order to be bold.
   */
  readonly dial?: Dial;
  /** The text is short: only repetitive kinds are cut, and a smaller saving is enough. */
  readonly small?: boolean;
  /** Another backend's score of each line: 1 must stay, 0 is noise, 0.5 and `NaN` are no opinion; index 0 is line 1. */
  readonly externalScores?: Float64Array;
  /** Language of the reasons. Default: French. It never changes a cut. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Called between stages; `true` ends the work with `timeout`. */
  readonly shouldStop?: () => boolean;
}

/** A block of lines to cut, 1-based and inclusive. `reason` is short, one line, free of `⟦` and `⟧`. */
export interface Cut {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  /**
   * Its marker is always written in full: a line that stays between it and the cut above looks like a full marker, so a
   * short one would seem to have that line's id. Part of the cut, so that a sent text keeps its bytes.
   */
  readonly full?: true;
}

/** Warning codes of a plan, as in the contract. The engine itself returns only the first two. */
export type PlanWarning = 'timeout' | 'constraints_unmet' | 'internal_error';

/** The engine's answer: the lines to cut, with reasons. Cuts are in order and neither overlap nor touch. */
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
