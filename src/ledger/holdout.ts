import type { Arm, Difference, HoldoutResult, LedgerConversation } from '../core/ports/ledger.ts';
import { difference, ENOUGH } from './interval.ts';

/** Compares pruned conversations with those that were left whole; `null` where none was. */
export function holdoutOf(conversations: readonly LedgerConversation[]): HoldoutResult | null {
  const arms: Record<Arm, LedgerConversation[]> = { pruned: [], control: [] };
  for (const one of conversations) arms[one.arm].push(one);
  if (arms.control.length === 0) return null;
  const enough = Math.min(arms.pruned.length, arms.control.length) >= ENOUGH;
  const compare = (value: (one: LedgerConversation) => number): Difference =>
    difference(arms.pruned.map(value), arms.control.map(value));
  return {
    conversations: { pruned: arms.pruned.length, control: arms.control.length },
    enough,
    dollarsPerConversation: compare(({ dollars }) => dollars),
    dollarsPerTurn: compare(({ dollars, turns }) => dollars / Math.max(1, turns)),
    turns: compare(({ turns }) => turns),
    outputTokens: compare(({ output }) => output),
    regretTokens: compare(({ regretTokens }) => regretTokens),
  };
}
