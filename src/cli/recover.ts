import { splitLines } from '../engine/text/lines.ts';
import { renderRanges } from '../engine/text/render.ts';
import { type Command, configOption, textOption } from './command.ts';
import { parseRanges } from './line-ranges.ts';
import { findOriginal, withStore } from './open-store.ts';
import { printable } from './terminal.ts';

export const recover: Command = {
  usage: 'recover <prune_id> [--lines 10-40]',
  about:
    'Prints the original text behind a prune id, as it was before the cut: byte for byte into a file or a pipe, with\n' +
    'control characters made visible on a terminal.',
  options: {
    ...configOption,
    lines: { type: 'string', value: '<ranges>', doc: 'only these lines of the original, such as 10-40 or 3,10-40' },
  },
  arguments: { least: 1, most: 1 },

  async run(call, io) {
    const [pruneId = ''] = call.positionals;
    const asked = textOption(call, 'lines');
    const ranges = asked === undefined ? null : parseRanges(asked);
    const { text } = await withStore(call, io, (store) => findOriginal(store, pruneId));
    const shown = ranges === null ? text : endedLines(renderRanges(splitLines(text), ranges, false));
    io.out(io.outIsTerminal ? printable(shown) : shown);
    return 0;
  },
};

function endedLines(text: string): string {
  return text === '' ? '' : `${text}\n`;
}
