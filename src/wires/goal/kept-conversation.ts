import type { RecoveredLines } from '../transcript/shell-recovery.ts';
import type { ToolCall } from '../transcript/tools.ts';

/** A call with the assistant's text that preceded it. */
export interface CallInContext extends ToolCall {
  readonly said: string;
  /** The user's newest words when the call was made. */
  readonly asked: string;
}

/** The part of a conversation that is stored with a model answer. Calls are ordered, oldest first. */
export interface KeptConversation {
  readonly id: string;
  readonly asked: string;
  /** Absent if stored by an older version. */
  readonly recovers?: boolean;
  /** Absent if the history is known. */
  readonly detached?: boolean;
  readonly calls: readonly (readonly [id: string, call: CallInContext])[];
  /** The model's text; absent if the answer contained a native tool call. */
  readonly spoken?: string;
  /** Files that were shown; absent if none. */
  readonly shown?: readonly string[];
  /**
   * The user's words and the model's plan, both of which may mention files; absent if there is no plan and the words
   * equal `asked`.
   */
  readonly naming?: readonly [words: string, plan: string];
  /** Absent if no shell command recovered lines. */
  readonly recovered?: readonly RecoveredLines[];
  /** The model wrote a marker into a file, and no result warned of it; absent if not. */
  readonly warns?: boolean | undefined;
}

/** Maximum number of stored calls, which later results may answer, and maximum length of stored arguments. */
export const MAX_KEPT_CALLS = 64;

export const MAX_KEPT_ARGS = 16_000;

/** Maximum number of shown files that are stored. */
export const MAX_KEPT_SHOWN = 200;

/** Maximum stored length of an answer without native calls. The end is kept, because it contains the action. */
export const MAX_ANSWER_CHARS = 64 * 1024;
