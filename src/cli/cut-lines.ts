import { type Lines, lineAt } from '../engine/text/lines.ts';
import { reasonInEnglish } from '../engine/text/reasons.ts';
import type { Cut } from '../engine/types.ts';
import type { Io } from './command.ts';
import { clipped, wrap } from './table.ts';
import { type Paint, printable, printableLine } from './terminal.ts';

/** Kept lines shown before and after a cut. */
const CONTEXT = 3;

/** Prints the lines that were cut, with their numbers and the reason, between the kept lines around them. */
export function writeCuts(lines: Lines, cuts: readonly Cut[], io: Io, paint: Paint): void {
  const width = String(lines.count).length;
  const show = (line: number, sign: string): string =>
    clipped(`${sign}${String(line).padStart(width)}  ${printable(lineAt(lines, line).replace(/\r$/, ''))}`, io.columns);
  const showKept = (first: number, last: number): void => {
    for (let line = first; line <= last; line++) io.out(`${paint('dim', show(line, ' '))}\n`);
  };

  let shown = 0; // the last line that was written
  cuts.forEach((cut, i) => {
    const count = cut.endLine - cut.startLine + 1;
    showKept(Math.max(shown + 1, cut.startLine - CONTEXT), cut.startLine - 1);
    const head = `@@ ${cut.startLine}-${cut.endLine} (${count}) ${printableLine(reasonInEnglish(cut.reason))}`;
    io.out(`${paint('cyan', wrap(head, io.columns, 3))}\n`);
    for (let line = cut.startLine; line <= cut.endLine; line++) io.out(`${paint('red', show(line, '-'))}\n`);
    const next = cuts[i + 1]?.startLine ?? lines.count + 1;
    shown = Math.min(cut.endLine + CONTEXT, next - 1);
    showKept(cut.endLine + 1, shown);
  });
}
