import type { LineRule } from '../../rules/line-rule.ts';
import type { Shape } from '../kind.ts';

/** What a line of a program's output can report. Used by `protect.ts`, `rank.ts` and `nature.ts`. */
export type Report =
  /** A failure in the sense of the contract: it stays wherever it occurs. */
  | 'failure'
  /** As informative as a failure, unless lines of its shape are frequent. */
  | 'trouble'
  /** Details that test runners print about a failure. */
  | 'detail'
  /** A failure with details in the indented lines below it. */
  | 'detailed'
  | 'trace-open'
  | 'trace-frame'
  /** The line of the exception at the end of a trace. */
  | 'trace-end'
  | 'summary'
  /** The beginning of a step, whose failure follows further down. */
  | 'step'
  /** Reports something that went well. */
  | 'passed'
  /** A line that draws attention. `cold`: a line that names a failure which did not happen. */
  | 'hot'
  | 'cold'
  | 'warm';

/** One format of output as rows: the patterns of its lines and what they report. */
export type LogFormat = readonly LineRule<Report | Shape>[];
