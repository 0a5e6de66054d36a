import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { messageOf } from '../../base/causes.ts';
import { cutNote, OutputCollector, WireBudget } from '../output.ts';
import { defineTool, type Tool } from '../tool.ts';
import { contextFocusQuestion, type LocalTools } from './local.ts';

const CHUNK_BYTES = 1024 * 1024;
/** Makes a pipe without a writer read as empty instead of blocking a thread forever. */
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** `read`: the content of a file. */
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
