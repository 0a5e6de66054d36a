import type { LineRule } from '../../rules/line-rule.ts';
import type { Shape } from '../kind.ts';

/** What a line of a program's output may say; who reads which is said in `lines.ts`. */
export type Said =
  /** A failure, as the contract binds it; it stays wherever it stands. */
  | 'failure'
  /** As informative, but a shape that keeps coming back is a habit of the program, not news. */
  | 'trouble'
  /** What test runners print of a failure besides its name. */
  | 'detail'
  /** A failure whose indented lines below belong to it. */
  | 'detailed'
  | 'trace-open'
  | 'trace-frame'
  /** The exception's own line where it ends a trace. */
  | 'trace-end'
  | 'summary'
  /** Opens a step, in which a failure further down is looked for. */
  | 'step'
  /** Reports something that went well. */
  | 'passed'
  /** Draws attention; `cold`: unless it only names a failure that did not happen. */
  | 'hot'
  | 'cold'
  | 'warm';

/** One format of output, or one habit of many, as rows: what its lines look like and what they say. */
export type LogFormat = readonly LineRule<Said | Shape>[];
