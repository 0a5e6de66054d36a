import { splitLines } from '../engine/text/lines.ts';
import { renderRanges } from '../engine/text/render.ts';
import type { LineRange } from '../engine/types.ts';
import { type Command, configOption, printable, valued } from './command.ts';
import { checkWithin, namedLines } from './line-ranges.ts';
import { findOriginal, withStore } from './open-store.ts';

export const recover: Command = {
  usage: 'recover <prune_id|marker> [--lines 10-40]',
  about:
    'Prints the original text behind a prune id, or the lines that a marker (in quotes) stands for, as they were before\n' +
    'the cut: byte for byte into a file or a pipe, with control characters made visible on a terminal.',
  options: {
    ...configOption,
    lines: valued('<ranges>', 'only these lines of the original, such as 10-40 or 3,10-40'),
  },
  arguments: { min: 1, max: 1 },

  async run(call, io) {
    const { pruneId, ranges } = namedLines(call);
    const { text } = await withStore(call, io, (store) => findOriginal(store, pruneId));
    const shown = ranges === null ? text : linesOf(text, ranges);
    io.out(io.outIsTerminal ? printable(shown) : shown);
    return 0;
  },
};

function linesOf(text: string, ranges: readonly LineRange[]): string {
  const lines = splitLines(text);
  checkWithin(ranges, lines.count);
  return `${renderRanges(lines, ranges, false)}\n`;
}
