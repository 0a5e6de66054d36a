import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { messageOf } from 'mcp-pruner/base/causes.ts';
import { defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { CommandRunner, Finished } from './command-runner.ts';
import type { Focus } from './focus.ts';
import { cutNote, OutputCollector, WireBudget } from './output.ts';

interface LocalTools {
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

const NO_MATCHES = '(no matches found)';

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

const CHUNK_BYTES = 1024 * 1024;
/** Makes a pipe without a writer read as empty instead of blocking a thread forever. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

export function readTool({ cwd, focus }: LocalTools): Tool {
  return defineTool({
    name: 'read',
    namespace: 'local',
    summary: 'Read a file.',
    description:
      'Read a text file and return its contents unchanged. For a long file, say in context_focus_question what you want ' +
      'to know from it: then only the lines that matter come back.',
    faces: ['stdio'],
    annotations: { readOnlyHint: true },
    input: z.object({
      file_path: z.string().describe('Path of the file, absolute or relative to the working directory.'),
      context_focus_question: contextFocusQuestion,
    }),
    async run({ file_path, context_focus_question }, { signal }) {
      let contents: string;
      try {
        contents = await readText(isAbsolute(file_path) ? file_path : resolve(cwd, file_path), signal);
      } catch (cause) {
        signal.throwIfAborted();
        return `Error reading file: ${messageOf(cause)}`;
      }
      return focus(contents, context_focus_question, signal);
    },
  });
}

/** Reads a file as UTF-8; if it exceeds the answer limit, only its beginning plus a note. */
async function readText(path: string, signal: AbortSignal): Promise<string> {
  const file = await open(path, FLAGS);
  try {
    const output = new OutputCollector(new WireBudget());
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return output.takeText();
      output.add(buffer.subarray(0, bytesRead));
      if (output.dropped > 0) return output.takeText() + cutNote(output.dropped, false);
    }
  } finally {
    await file.close();
  }
}
