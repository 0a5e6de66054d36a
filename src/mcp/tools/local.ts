import { z } from 'zod';
import type { CommandRunner } from '../command-runner.ts';
import type { Focus } from '../focus.ts';

/** Dependencies of `read`, `bash` and `grep`. */
export interface LocalTools {
  /** Base of relative paths, and working directory of commands. Not a restriction: absolute paths are accepted. */
  readonly cwd: string;
  readonly runner: CommandRunner;
  readonly focus: Focus;
}

/** Optional argument of all three tools. */
export const contextFocusQuestion = z
  .string()
  .optional()
  .describe('Ask for shortened output: only the lines that help to answer this question come back.');
