import type { Arm } from '../../core/ports/ledger.ts';
import { difference } from '../../ledger/interval.ts';
import type { WindowUse } from '../../ledger/limits/attribution.ts';
import { UNITS } from '../../ledger/limits/read-limits.ts';
import type { HeldOut } from './shapes.ts';

/** The arm of each billed conversation. */
export type Arms = ReadonlyMap<string, Arm>;

/**
 * What conversations with and without cuts used of a window, compared directly.
 *
 * @param history - the window of an account in the last two weeks
 * @returns `null` if no conversation was held out
 */
export function armsCompared(history: readonly WindowUse[], arms: Arms): HeldOut | null {
  const used = new Map<string, number>();
  for (const { reading, used: share } of history.flatMap(({ requests }) => requests)) {
    const { conversation } = reading;
    if (reading.project !== '') used.set(conversation, (used.get(conversation) ?? 0) + share / UNITS);
  }
  const of = (arm: Arm): number[] => [...used].flatMap(([name, share]) => (arms.get(name) === arm ? [share] : []));
  const [pruned, control] = [of('pruned'), of('control')];
  if (control.length === 0) return null;
  return { ...difference(pruned, control), conversations: { pruned: pruned.length, control: control.length } };
}
