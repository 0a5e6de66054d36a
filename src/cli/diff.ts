import { readPruneReference } from '../core/calls/prune-reference.ts';
import { type Lines, lineAt, splitLines } from '../engine/text/lines.ts';
import type { Cut } from '../engine/types.ts';
import { type Command, configOption, type Io } from './command.ts';
import { findOriginal, withStore } from './open-store.ts';
import { writeHeader } from './prune-header.ts';
import { type Paint, painter, printable, printableLine } from './terminal.ts';

/** Kept lines shown before and after a cut. */
const CONTEXT = 3;

export const diff: Command = {
  usage: 'diff <prune_id|marker>',
  about: 'Shows which lines of a text were cut, with their numbers, the reason, and the kept lines around them.',
  options: configOption,
  arguments: { min: 1, max: 1 },

  async run(call, io) {
    const { pruneId } = readPruneReference(call.positionals[0] ?? '');
    const original = await withStore(call, io, (store) => findOriginal(store, pruneId));
    const paint = painter(io);
    writeHeader(original, io, paint);
    writeCuts(splitLines(original.text), original.prune.decision.cuts, io, paint);
    return 0;
  },
};

function writeCuts(lines: Lines, cuts: readonly Cut[], io: Io, paint: Paint): void {
  const width = String(lines.count).length;
  const show = (line: number, sign: string): string =>
    `${sign}${String(line).padStart(width)}  ${printable(lineAt(lines, line).replace(/\r$/, ''))}`;
  const showKept = (first: number, last: number): void => {
    for (let line = first; line <= last; line++) io.out(`${paint('dim', show(line, ' '))}\n`);
  };

  let shown = 0; // the last line that was written
  cuts.forEach((cut, i) => {
    const count = cut.endLine - cut.startLine + 1;
    showKept(Math.max(shown + 1, cut.startLine - CONTEXT), cut.startLine - 1);
    io.out(`${paint('cyan', `@@ ${cut.startLine}-${cut.endLine} (${count}) ${printableLine(cut.reason)}`)}\n`);
    for (let line = cut.startLine; line <= cut.endLine; line++) io.out(`${paint('red', show(line, '-'))}\n`);
    const next = cuts[i + 1]?.startLine ?? lines.count + 1;
    shown = Math.min(cut.endLine + CONTEXT, next - 1);
    showKept(cut.endLine + 1, shown);
  });
}
