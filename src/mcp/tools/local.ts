import { z } from 'zod';
import type { CommandRunner } from '../command-runner.ts';
import type { Focus } from '../focus.ts';

/** What `read`, `bash` and `grep` work with. */
export interface LocalTools {
  /** Where relative paths start and commands run. No path is kept out: absolute ones are taken as they are. */
  readonly cwd: string;
  readonly runner: CommandRunner;
  readonly focus: Focus;
}

/** The optional argument of all three. */
export const contextFocusQuestion = z
  .string()
  .optional()
  .describe('Ask for shortened output: only the lines that help to answer this question come back.');

export function messageOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause);
}
