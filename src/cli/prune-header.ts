import type { Decision } from '../core/ports.ts';
import type { Io } from './command.ts';
import type { Original } from './open-store.ts';
import { wrap } from './table.ts';
import { type Paint, printable, printableLine } from './terminal.ts';

/** Prints the facts of a prune id: its source, the removed lines, the time and the goal. */
export function writeHeader({ prune }: Original, io: Io, paint: Paint): void {
  const { decision, createdAtMs, expiresAtMs } = prune;
  io.out(`${paint('bold', printable(decision.pruneId ?? ''))}  ${origin(decision)}\n`);
  const { lines, keptLines, tokensBefore, tokensAfter, cuts, goal } = decision;
  const say = (text: string): void => io.out(`${wrap(text, io.columns, 2)}\n`);
  say(
    `${lines} lines -> ${keptLines}, about ${tokensBefore} tokens -> ${tokensAfter}; ` +
      `${cuts.length > 0 ? 'cut' : 'left whole'} ${isoMinute(createdAtMs)}, kept until ${isoMinute(expiresAtMs)} at least`,
  );
  if (goal !== '') say(`goal: ${printable(goal).replaceAll('\n', ' ')}`);
}

function origin({ kind, tool, sourceType }: Decision): string {
  return printableLine([kind === '' ? sourceType : kind, ...(tool === '' ? [] : [`from ${tool}`])].join(' '));
}

function isoMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace('T', ' ');
}
