import type { LineRule } from '../../rules/line-rule.ts';
import type { Shape } from '../kind.ts';

/** Roles of lines in program output. Used by `protect.ts`, `rank.ts` and `nature.ts`. */
export type Report =
  /** A failure according to the contract; always stays. */
  | 'failure'
  /** As informative as a failure, unless lines of its shape are frequent. */
  | 'trouble'
  /** Details that test runners print about a failure. */
  | 'detail'
  /** A failure with details in indented lines below it. */
  | 'detailed'
  | 'trace-open'
  | 'trace-frame'
  /** The exception line at the end of a trace. */
  | 'trace-end'
  | 'summary'
  /** The beginning of a step, whose failure may follow further down. */
  | 'step'
  /** A success. */
  | 'passed'
  /** `hot` lines draw attention. `cold` lines name a failure that did not happen. */
  | 'hot'
  | 'cold'
  | 'warm';

/** One output format: rows of line patterns with their roles. */
export type LogFormat = readonly LineRule<Report | Shape>[];
