import type { Arm } from '../core/ports/ledger.ts';
import type { WorkMeasure, WorkName, WorkRate } from '../core/ports/ledger-report.ts';
import type { LedgerConversation } from '../core/ports/ledger-store.ts';
import { difference, ENOUGH } from './interval.ts';

/** Fields of a conversation for measuring work. */
export type WorkedConversation = Pick<LedgerConversation, 'arm' | 'turns' | 'compactions'> &
  Partial<
    Pick<
      LedgerConversation,
      Exclude<WorkName, 'compactions' | 'turns'> | 'edits' | 'calls' | 'redTests' | 'userMessages'
    >
  >;

type Value = (one: WorkedConversation) => number;

interface Measure extends Pick<WorkMeasure, 'words' | 'isShare'> {
  readonly part: Value;
  readonly whole: Value;
}

/** Numerator and denominator of each measure: rates over the whole arm, not means over conversations. */
const MEASURES: Readonly<Record<WorkName, Measure>> = {
  failedEdits: {
    words: 'Edits that did not find their text',
    isShare: true,
    part: ({ failedEdits = 0 }) => failedEdits,
    whole: ({ edits = 0 }) => edits,
  },
  callsAgain: {
    words: 'Calls that were made before',
    isShare: true,
    part: ({ callsAgain = 0 }) => callsAgain,
    whole: ({ calls = 0 }) => calls,
  },
  recoveries: {
    words: 'Recoveries per conversation',
    isShare: false,
    part: ({ recoveries = 0 }) => recoveries,
    whole: () => 1,
  },
  turns: {
    words: 'Requests per user message',
    isShare: false,
    part: ({ turns }) => turns,
    whole: ({ userMessages = 0 }) => userMessages,
  },
  turnedGreen: {
    words: 'Failed test runs that are followed by a passing one',
    isShare: true,
    part: ({ turnedGreen = 0 }) => turnedGreen,
    whole: ({ redTests = 0 }) => redTests,
  },
  corrections: {
    words: 'User messages that correct the model',
    isShare: true,
    part: ({ corrections = 0 }) => corrections,
    whole: ({ userMessages = 0 }) => userMessages,
  },
  compactions: {
    words: 'Compactions per conversation',
    isShare: false,
    part: ({ compactions }) => compactions,
    whole: () => 1,
  },
};

/** Minimum number of events per arm; with fewer, an interval would be a guess. */
const ENOUGH_EVENTS = 10;
const DEVIATIONS_95 = 1.96;

/** Compares work in pruned and unpruned conversations. @returns a row for each measure with a non-zero denominator */
export function workOf(conversations: readonly WorkedConversation[]): WorkMeasure[] {
  // conversations recorded before work counts existed have turns but no user messages
  const counted = conversations.filter(({ userMessages = 0 }) => userMessages > 0);
  const arms: Record<Arm, WorkedConversation[]> = { pruned: [], control: [] };
  for (const one of counted) arms[one.arm].push(one);
  const names = Object.keys(MEASURES) as WorkName[];
  return names.flatMap((name) => {
    const [pruned, control] = [rateOf(arms.pruned, name), rateOf(arms.control, name)];
    if (pruned.whole + control.whole === 0) return [];
    const decides = pruned.interval !== null && control.interval !== null;
    const own = decides ? difference(aboutRate(arms.pruned, name), aboutRate(arms.control, name)) : null;
    const { words, isShare } = MEASURES[name];
    return [
      { name, words, isShare, pruned, control, difference: own && { middle: own.difference, interval: own.interval } },
    ];
  });
}

function rateOf(conversations: readonly WorkedConversation[], name: WorkName): WorkRate {
  const { part: partOf, whole: wholeOf } = MEASURES[name];
  const part = sum(conversations.map(partOf));
  const whole = sum(conversations.map(wholeOf));
  const rate = whole > 0 ? part / whole : null;
  if (rate === null || conversations.length < ENOUGH || part < ENOUGH_EVENTS)
    return { part, whole, rate, interval: null };
  const values = aboutRate(conversations, name);
  const variance = sum(values.map((value) => (value - rate) ** 2)) / (values.length - 1);
  const reach = DEVIATIONS_95 * Math.sqrt(variance / values.length);
  return { part, whole, rate, interval: [Math.max(0, rate - reach), rate + reach] };
}

/**
 * One value per conversation, such that the mean is the overall rate and the variance gives the rate's variance
 * (linearised ratio of sums). Sampled by conversation, because edits within one are correlated.
 */
function aboutRate(conversations: readonly WorkedConversation[], name: WorkName): number[] {
  const { part, whole } = MEASURES[name];
  const mean = sum(conversations.map(whole)) / conversations.length;
  const rate = sum(conversations.map(part)) / conversations.length / mean;
  return conversations.map((one) => rate + (part(one) - rate * whole(one)) / mean);
}

function sum(values: readonly number[]): number {
  return values.reduce((all, value) => all + value, 0);
}
