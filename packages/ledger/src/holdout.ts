import { difference, ENOUGH, pairedDifference } from '@mcp-pruner/money/interval.ts';
import type { Arm } from 'mcp-pruner/core/ports/ledger.ts';
import type { Difference, HoldoutPlan, HoldoutResult } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { LedgerConversation } from 'mcp-pruner/core/ports/ledger-store.ts';

/** Compared fields of a conversation. */
export type ComparedConversation = Pick<
  LedgerConversation,
  'arm' | 'turns' | 'dollars' | 'dollarsWithout' | 'firstRequestTokens'
> &
  Partial<Pick<LedgerConversation, 'output' | 'regretTokens' | 'recoveries' | 'compactions' | 'firstMs' | 'lastMs'>>;

/** Number of size classes by first request. Conversations are compared within their class. */
const STRATA = 5;
/** Recommended share of the control group if each pruned conversation is compared with its own bill without cuts. */
const USUAL_SHARE = 0.1;
const DAY_MS = 86_400_000;
/** Equal group sizes minimise differences by chance. */
const HALF = 0.5;
/**
 * Factor on the number of conversations. With just enough for an interval to exclude zero, one experiment in two is
 * conclusive; with twice as many, four in five.
 */
const FOR_POWER = 2;
/**
 * Groups count as different if an interval widened by this factor excludes zero. Without widening, this happens in one
 * of 25 experiments with equal groups.
 */
const SURE = 1.4;

/**
 * Compares pruned conversations with those of the control group; `null` if there are none.
 *
 * Each pruned conversation has its own twin, the same bill without cuts. As long as the groups differ only in the cuts
 * (same number of turns, same cost without cuts), the saving is the mean difference within these pairs, which is hardly
 * affected by chance. If they differ in other ways, pruning changes how conversations proceed, so the groups themselves
 * are compared.
 */
export function holdoutOf(conversations: readonly ComparedConversation[]): HoldoutResult | null {
  const arms: Record<Arm, ComparedConversation[]> = { pruned: [], control: [] };
  for (const one of conversations) arms[one.arm].push(one);
  const { pruned, control } = arms;
  if (control.length === 0) return null;
  const stratumOf = strataOf(conversations);
  const compare = (value: Value): Difference => difference(pruned.map(value), control.map(value));
  const stratified = (value: Value): Difference => {
    const level = levelled(conversations, stratumOf, value);
    return difference(pruned.map(level), control.map(level));
  };
  const paired = (value: Value, twin: Value): Difference =>
    pairedDifference(
      pruned.map((one) => value(one) - twin(one)),
      // the other side of a pair is the same conversation without cuts, not the control group
      { pruned: meanOf(pruned.map(value)), control: meanOf(pruned.map(twin)) },
    );
  const withoutCuts = stratified(wholeBill);
  const turns = compare(({ turns: count }) => count);
  const areAlike = ![withoutCuts, turns].some((one) => differs(one, SURE));
  const isPaired = areAlike && pruned.some((one) => one.dollars !== one.dollarsWithout);
  const isEnough = Math.min(pruned.length, control.length) >= ENOUGH;
  // if either group is too small, comparability cannot be checked, so no interval is meaningful
  const decided = (one: Difference): Difference => (isEnough ? one : { ...one, interval: null, tooSkewed: false });
  const dollarsPerConversation = decided(isPaired ? paired(bill, wholeBill) : stratified(bill));
  return {
    conversations: { pruned: pruned.length, control: control.length },
    enough: isEnough,
    method: isPaired ? 'pairs' : 'groups',
    dollarsPerConversation,
    dollarsPerTurn: decided(isPaired ? paired(perTurn, wholePerTurn) : stratified(perTurn)),
    turns: decided(turns),
    withoutCuts: decided(withoutCuts),
    outputTokens: decided(compare(({ output = 0 }) => output)),
    regretTokens: decided(compare(({ regretTokens = 0 }) => regretTokens)),
    recoveries: decided(compare(({ recoveries = 0 }) => recoveries)),
    compactions: decided(compare(({ compactions = 0 }) => compactions)),
    plan: planOf(conversations, dollarsPerConversation, isPaired, control.length),
  };
}

type Value = (one: ComparedConversation) => number;

const bill: Value = ({ dollars }) => dollars;
/** The cost of a conversation without cuts. Conversations of the control group have none. */
const wholeBill: Value = ({ arm, dollars, dollarsWithout }) => (arm === 'control' ? dollars : dollarsWithout);
const perTurn: Value = ({ dollars, turns }) => dollars / Math.max(1, turns);
const wholePerTurn: Value = (one) => wholeBill(one) / Math.max(1, one.turns);

/** Whether an interval, widened by a factor, excludes zero. */
function differs({ difference: middle, interval }: Pick<Difference, 'difference' | 'interval'>, times = 1): boolean {
  return interval !== null && Math.abs(middle) > (times * (interval[1] - interval[0])) / 2;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
}

/** The size class of each conversation by its first request, which pruning cannot change. */
function strataOf(conversations: readonly ComparedConversation[]): (one: ComparedConversation) => number {
  const sizes = conversations.map(({ firstRequestTokens }) => firstRequestTokens).sort((a, b) => a - b);
  const bounds = Array.from(
    { length: STRATA - 1 },
    (_, i) => sizes[Math.floor(((i + 1) * sizes.length) / STRATA)] ?? 0,
  );
  return ({ firstRequestTokens }) => bounds.filter((bound) => firstRequestTokens >= bound).length;
}

/** Adjusts a value by the difference between its class mean and the overall mean. */
function levelled(
  conversations: readonly ComparedConversation[],
  stratumOf: (one: ComparedConversation) => number,
  value: Value,
): Value {
  const classes = new Map<number, number[]>();
  for (const one of conversations) {
    const known = classes.get(stratumOf(one));
    if (known) known.push(value(one));
    else classes.set(stratumOf(one), [value(one)]);
  }
  const all = meanOf(conversations.map(value));
  const above = new Map([...classes].map(([stratum, values]) => [stratum, meanOf(values) - all]));
  return (one) => value(one) - (above.get(stratumOf(one)) ?? 0);
}

/** Number of further conversations needed, and recommended share of the control group until then. */
function planOf(
  conversations: readonly ComparedConversation[],
  { difference: found, interval }: Difference,
  isPaired: boolean,
  control: number,
): HoldoutPlan {
  const count = conversations.length;
  const share =
    isPaired && control * USUAL_SHARE >= ENOUGH * (control / count) ? USUAL_SHARE : isPaired ? shareFor(count) : HALF;
  if (differs({ difference: found, interval })) return { more: 0, share, days: 0 };
  if (interval === null) {
    const least = Math.ceil(ENOUGH / share);
    const more = Math.max(least - count, count);
    return { more, share, days: daysFor(conversations, more) };
  }
  if (found === 0) return { more: null, share, days: null };
  const reach = (interval[1] - interval[0]) / 2;
  const own = control / count;
  const bySplit = isPaired ? 1 : 4 / (1 / own + 1 / Math.max(1e-9, 1 - own));
  const needed = count * FOR_POWER * bySplit * (reach / found) ** 2;
  const more = Math.max(1, Math.ceil(needed - count));
  return { more, share, days: daysFor(conversations, more) };
}

/** The share with which the control group gets enough of `count` conversations. */
function shareFor(count: number): number {
  return Math.min(HALF, Math.max(USUAL_SHARE, Math.ceil((20 * ENOUGH) / count) / 20));
}

function daysFor(conversations: readonly ComparedConversation[], more: number): number | null {
  const starts = conversations.flatMap(({ firstMs }) => firstMs ?? []);
  if (starts.length < 2) return null;
  const days = Math.max(1, (Math.max(...starts) - Math.min(...starts)) / DAY_MS);
  return Math.ceil((more * days) / conversations.length);
}
