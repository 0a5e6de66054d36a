import { describe, expect, it } from 'vitest';
import { alarmOf, alarmWords } from '../../src/core/saving-alarm.ts';

const SETTINGS = { enabled: true, shadow: false, hasDefaultSizes: true };
const countsOf = (codes: Readonly<Record<string, number>>, requests = 50) => ({
  requests,
  codes: new Map(Object.entries(codes)),
});

describe('the cause of an alarm', () => {
  it.each([
    ['unknown_frame', 'no_call'],
    ['unknown_frame', 'body_not_understood'],
    ['unknown_frame', 'path_not_understood'],
    ['left_alone', 'left_alone'],
    ['settings', 'exempt'],
    ['settings', 'input_too_large'],
    ['settings', 'constraints_unmet'],
    ['settings', 'off'],
    ['client_truncates', 'no_large_result'],
    ['signed', 'signed_by_client'],
    ['timeout', 'timeout'],
    ['overloaded', 'overloaded'],
    ['store_unavailable', 'store_locked'],
    ['unknown', 'too_little_saved'],
  ])('is %s if most requests have the code %s', (cause, code) => {
    expect(alarmOf(countsOf({ [code]: 40, file: 10 }), SETTINGS)).toEqual({ cause, requests: 50, code });
  });

  it('is a setting if the kill switch or shadow mode is on, whatever the requests show', () => {
    const counts = countsOf({ left_alone: 50 });
    expect(alarmOf(counts, { ...SETTINGS, enabled: false })).toMatchObject({ cause: 'settings' });
    expect(alarmOf(counts, { ...SETTINGS, shadow: true })).toMatchObject({
      cause: 'settings',
      code: 'MCP_PRUNER_MODE',
    });
  });

  it('is a setting if no result is large because the minimum size was raised', () => {
    const counts = countsOf({ no_large_result: 50 });
    expect(alarmOf(counts, { ...SETTINGS, hasDefaultSizes: false }).cause).toBe('settings');
  });

  it('is found across all codes of a cause, and is unknown if no cause covers half of the requests', () => {
    expect(alarmOf(countsOf({ exempt: 20, input_too_large: 10, reread: 20 }), SETTINGS)).toMatchObject({
      cause: 'settings',
      code: 'exempt',
    });
    expect(alarmOf(countsOf({ exempt: 20, left_alone: 15, signed_by_client: 15 }), SETTINGS).cause).toBe('unknown');
    expect(alarmOf(countsOf({}), SETTINGS)).toEqual({ cause: 'unknown', requests: 50, code: '' });
  });

  it('is shown with the number of requests, the code and advice', () => {
    const { what, advice } = alarmWords({ cause: 'left_alone', requests: 61, code: 'left_alone' });
    expect(what).toMatch(/^nothing was saved in the last 61 requests .*refused.*\(left_alone\)$/);
    expect(advice).toContain('new session');
  });
});
