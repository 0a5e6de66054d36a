import type { RecoveredLines } from '../transcript/shell-recovery.ts';
import type { ToolCall } from '../transcript/tools.ts';

/** A call together with what the assistant said when it made it. */
export interface CallInContext extends ToolCall {
  readonly said: string;
  /** The newest words of the user when the call was made. */
  readonly asked: string;
}

/** The part of a conversation that is stored with a model's answer. Calls are in order, the oldest first. */
export interface Kept {
  readonly id: string;
  readonly asked: string;
  /** Absent if an older version stored it. */
  readonly recovers?: boolean;
  /** Absent: its history is known. */
  readonly detached?: boolean;
  readonly calls: readonly (readonly [id: string, call: CallInContext])[];
  /** The model's text; absent if the answer called a tool natively. */
  readonly spoken?: string;
  /** Files that were shown; absent if there were none. */
  readonly shown?: readonly string[];
  /**
   * The user's words and the model's plan, both of which may name files; absent if there is no plan and the words are
   * the same as `asked`.
   */
  readonly naming?: readonly [words: string, plan: string];
  /** Absent if nothing was recovered in a shell. */
  readonly recovered?: readonly RecoveredLines[];
}

/**
 * Maximum number of calls that are stored because later results may answer them, and maximum length of stored
 * arguments.
 */
export const MAX_KEPT_CALLS = 64;

export const MAX_KEPT_ARGS = 16_000;

/** Maximum number of shown files that are stored. */
export const MAX_KEPT_SHOWN = 200;

/**
 * Maximum number of stored characters of an answer without native calls. Its end is kept, which contains the action.
 */
export const MAX_ANSWER_CHARS = 64 * 1024;
