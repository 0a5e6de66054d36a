import { z } from 'zod';
import { messageOf } from '../../base/causes.ts';
import type { Finished } from '../command-runner.ts';
import { cutNote } from '../output.ts';
import { defineTool, type Tool } from '../tool.ts';
import { contextFocusQuestion, type LocalTools } from './local.ts';

/** `bash`: runs a shell command, and returns output, errors and exit code. */
export function bashTool({ runner, focus }: LocalTools): Tool {
  return defineTool({
    name: 'bash',
    namespace: 'local',
    summary: 'Run a shell command.',
    description:
      'Run a shell command with bash and return its output; stderr and an exit code other than 0 are appended. There is ' +
      'no time limit. For a command with long output, say in context_focus_question what you want to know from it: then ' +
      'only the lines that matter come back.',
    faces: ['stdio'],
    input: z.object({
      command: z.string().describe('The command line.'),
      context_focus_question: contextFocusQuestion,
    }),
    async run({ command, context_focus_question }, { signal }) {
      let finished: Finished;
      try {
        finished = await runner.run('bash', ['-c', command], signal);
      } catch (cause) {
        signal.throwIfAborted();
        return `Error executing command: ${messageOf(cause)}`;
      }
      const output = assemble(finished);
      return output === '' ? '(no output)' : focus(output, context_focus_question, signal);
    },
  });
}

function assemble({ stdout, stderr, exitCode, droppedBytes }: Finished): string {
  const errors = stderr === '' ? '' : `\n[stderr]\n${stderr}`;
  const code = exitCode === 0 ? '' : `\n[exit code: ${exitCode}]`;
  return stdout + errors + code + cutNote(droppedBytes);
}
