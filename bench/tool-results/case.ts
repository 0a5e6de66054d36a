import type { Hints } from '../../src/engine/types.ts';
import type { Workshop } from './workshop.ts';

/** The kinds that the set covers; at least three cases of each. */
export const KINDS = [
  'source code',
  'compiler output',
  'test run',
  'service log',
  'package or CI log',
  'stack trace',
  'grep',
  'diff',
  'listing',
  'json',
  'table',
  'docs',
  'numbered file',
] as const;

/** One tool result as an agent would get it, what it was asked for, and what an answer needs of it. */
export interface ToolResultCase {
  readonly name: string;
  readonly kind: (typeof KINDS)[number];
  /** What the user asked, with what the agent said when it made the call. */
  readonly goal: string;
  /** As the proxy would derive them from the tool call. */
  readonly hints: Hints;
  /** Parts of lines without which the question cannot be answered; with LF between them, of lines in a row. */
  readonly fragments: readonly string[];
  /** Makes the text; throws `Unavailable` where a tool is not on this machine. */
  make(workshop: Workshop): string | Promise<string>;
}
