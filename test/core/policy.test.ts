import { describe, expect, it } from 'vitest';
import { type Policy, PRUNE, policyFor, recordsWholeMessages, type Situation } from '../../src/core/request/policy.ts';

const ORDINARY: Situation = {
  purpose: 'generate',
  isOff: false,
  isShadow: false,
  hasBudget: true,
  historyRefused: false,
  mayWait: false,
};

const VERIFIED = { verifiesHistory: true } as const;
const UNVERIFIED = { verifiesHistory: false } as const;

/** What each situation makes of an ordinary request, where the provider verifies the history and where it does not. */
const ROWS: readonly [string, Partial<Situation>, Partial<Policy>, Partial<Policy> | null][] = [
  ['an ordinary request', {}, {}, {}],
  ['pruning that is switched off', { isOff: true }, { newTexts: 'pass-and-record' }, null],
  ['shadow mode', { isShadow: true }, { newTexts: 'pass-and-record' }, { newTexts: 'pass', dryRun: true }],
  ['a spent byte budget', { hasBudget: false }, { newTexts: 'pass-and-record' }, { newTexts: 'pass' }],
  [
    'shadow mode with a spent byte budget',
    { isShadow: true, hasBudget: false },
    { newTexts: 'pass-and-record' },
    { newTexts: 'pass' },
  ],
  ['a count of tokens', { purpose: 'count' }, { newTexts: 'pass' }, { newTexts: 'pass' }],
  ['a compaction', { purpose: 'compact' }, { newTexts: 'pass' }, { newTexts: 'pass' }],
  ['a history that was refused whole', { historyRefused: true }, { history: 're-prune' }, { history: 're-prune' }],
  ['a store that may come back', { mayWait: true }, { whenHistoryUnknown: 'wait' }, { whenHistoryUnknown: 'wait' }],
];

describe('the policy of a request', () => {
  it.each(ROWS)('is the expected one for %s', (_name, situation, verified, unverified) => {
    const request = { ...ORDINARY, ...situation };
    expect(policyFor(VERIFIED, request)).toEqual({ ...PRUNE, ...verified });
    expect(policyFor(UNVERIFIED, request)).toEqual(unverified && { ...PRUNE, ...unverified });
  });

  it('never prunes new texts of a token count', () => {
    for (const hasBudget of [true, false]) {
      for (const isShadow of [true, false]) {
        const policy = policyFor(VERIFIED, { ...ORDINARY, purpose: 'count', hasBudget, isShadow });
        expect(policy?.newTexts).toBe('pass');
      }
    }
  });

  it('records whole messages on a wire with verified history, unless new texts only pass', () => {
    const binds = (dialect: typeof VERIFIED | typeof UNVERIFIED, newTexts: Policy['newTexts']): boolean =>
      recordsWholeMessages({ dialect, policy: { ...PRUNE, newTexts } });
    expect((['prune', 'pass-and-record', 'pass'] as const).map((one) => binds(VERIFIED, one))).toEqual([
      true,
      true,
      false,
    ]);
    expect(binds(UNVERIFIED, 'prune')).toBe(false);
  });
});
