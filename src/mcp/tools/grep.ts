import { z } from 'zod';
import { messageOf } from '../../base/causes.ts';
import type { Finished } from '../command-runner.ts';
import { cutNote } from '../output.ts';
import { defineTool, type Tool } from '../tool.ts';
import { contextFocusQuestion, type LocalTools } from './local.ts';

const NO_MATCHES = '(no matches found)';

/** `grep`: matching lines of a file, or of all files below a folder. */
export function grepTool({ runner, focus }: LocalTools): Tool {
  return defineTool({
    name: 'grep',
    namespace: 'local',
    summary: 'Search files for a pattern.',
    description:
      'Search a file, or all files below a folder, for a regular expression (grep -rn). Returns path:line:match lines. ' +
      'When many matches are likely, say in context_focus_question what you want to know from them: then only the lines ' +
      'that matter come back.',
    faces: ['stdio'],
    annotations: { readOnlyHint: true },
    input: z.object({
      pattern: z.string().describe('A basic regular expression.'),
      path: z.string().optional().describe('File or folder to search; the working directory if left out.'),
      context_focus_question: contextFocusQuestion,
    }),
    async run({ pattern, path = '.', context_focus_question }, { signal }) {
      let finished: Finished;
      try {
        finished = await runner.run('grep', ['-rn', '--color=never', ...operands(pattern, path)], signal);
      } catch (cause) {
        signal.throwIfAborted();
        return `Error executing grep: ${messageOf(cause)}`;
      }
      const { stdout, stderr, exitCode, droppedBytes } = finished;
      if (exitCode === 1) return NO_MATCHES;
      if (exitCode !== 0 && stderr !== '') return `Error: ${stderr}`;
      return stdout === '' ? NO_MATCHES : focus(stdout + cutNote(droppedBytes), context_focus_question, signal);
    },
  });
}

/** Pattern and path as operands that cannot be mistaken for options. */
function operands(pattern: string, path: string): string[] {
  return pattern.startsWith('-') || path.startsWith('-') ? ['-e', pattern, '--', path] : [pattern, path];
}
