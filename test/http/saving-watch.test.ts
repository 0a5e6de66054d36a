import { describe, expect, it } from 'vitest';
import type { TextOutcome } from '../../src/core/request/prefix-memo.ts';
import type { RequestReport } from '../../src/proxy/report/request-report.ts';
import { SavingWatch } from '../../src/proxy/report/saving-watch.ts';

const DAY_MS = 86_400_000;
const TEXT: TextOutcome = {
  ...{ messageIndex: 2, tool: 'bash', kind: 'logs', pruneId: null, whole: 'too_little_saved' },
  ...{ lines: 100, keptLines: 100, tokensBefore: 2_000, tokensAfter: 2_000 },
};
const CUT: TextOutcome = { ...TEXT, pruneId: 'p1', whole: '', keptLines: 20, tokensAfter: 400 };
const WHOLE: RequestReport = {
  ...{ requestId: 'r', foreign: false, wire: 'chat', verifiesHistory: 'never', stream: false },
  ...{ conversationId: 'c', model: 'm', messages: 3 },
  ...{
    outcomes: [TEXT],
    newFrom: 0,
    small: 0,
    unexamined: '',
    forwardedOriginal: true,
    bytesIn: 9_000,
    bytesOut: 9_000,
    fallbacks: [],
  },
  ...{ pruneMs: 1, firstByteMs: 1, totalMs: 1, status: 200, end: 'answered', upstreamError: null, usage: null },
};
const UNREAD: RequestReport = { ...WHOLE, conversationId: '', outcomes: [], bytesIn: 60_000 };

function watch() {
  const lines: unknown[] = [];
  const made = new SavingWatch({
    settings: { enabled: true, shadow: false, hasDefaultSizes: true },
    log: { warn: (about: unknown) => lines.push(about) },
    removedOn: async () => 0,
    onFailure: (code) => {
      throw new Error(code);
    },
  });
  const see = (report: RequestReport, times: number, atMs = 0): void => {
    for (let i = 0; i < times; i++) made.record(report, atMs);
  };
  return { made, see, lines };
}

describe('50 requests in a row without a saving', () => {
  it.each<[string, RequestReport]>([
    ['unknown', WHOLE],
    ['unknown_frame', { ...WHOLE, outcomes: [{ ...TEXT, tool: '' }] }],
    ['unknown_frame', { ...UNREAD, fallbacks: ['body_not_understood'] }],
    ['left_alone', { ...WHOLE, outcomes: [], fallbacks: ['left_alone'] }],
    ['left_alone', { ...WHOLE, outcomes: [CUT], fallbacks: ['upstream_refused_400'] }],
    ['settings', { ...WHOLE, outcomes: [{ ...TEXT, whole: 'exempt', kind: '', tokensBefore: 0 }] }],
    ['settings', UNREAD],
    ['signed', { ...UNREAD, fallbacks: ['signed_by_client'] }],
    ['timeout', { ...WHOLE, outcomes: [{ ...TEXT, whole: 'timeout' }], fallbacks: ['timeout'] }],
    ['overloaded', { ...UNREAD, fallbacks: ['overloaded'] }],
    ['store_unavailable', { ...WHOLE, outcomes: [{ ...TEXT, whole: 'store_full' }], fallbacks: ['store_full'] }],
    ['client_truncates', { ...WHOLE, outcomes: [], messages: 60, bytesIn: 150_000 }],
  ])('raise the alarm with the cause %s', (cause, report) => {
    const { made, see } = watch();
    see(report, 49);
    expect(made.alarm).toBeNull();
    see(report, 1);
    expect(made.alarm).toMatchObject({ cause, requests: 50 });
  });

  it.each<[string, RequestReport]>([
    ['files that may be edited', { ...WHOLE, outcomes: [{ ...TEXT, whole: 'file' }] }],
    ['small results', { ...WHOLE, outcomes: [{ ...TEXT, tokensBefore: 300 }] }],
    ['results of earlier requests only', { ...WHOLE, newFrom: 1 }],
    ['short requests that were not read', { ...UNREAD, bytesIn: 900 }],
    ['failed requests', { ...WHOLE, status: 500 }],
    ['pages of somebody else', { ...WHOLE, foreign: true }],
    ['conversations that begin', { ...WHOLE, outcomes: [], bytesIn: 150_000 }],
  ])('do not count %s', (_what, report) => {
    const { made, see } = watch();
    see(report, 200);
    expect(made.alarm).toBeNull();
  });

  it('are counted anew after a request that saves tokens, which also ends the alarm', () => {
    const { made, see } = watch();
    const saved = { ...WHOLE, outcomes: [CUT], forwardedOriginal: false };
    see(WHOLE, 49);
    see(saved, 1);
    see(WHOLE, 49);
    expect(made.alarm).toBeNull();
    see(WHOLE, 1);
    expect(made.alarm).not.toBeNull();
    see(saved, 1);
    expect(made.alarm).toBeNull();
  });

  it('are logged once for each cause and day', () => {
    const { see, lines } = watch();
    see(WHOLE, 120);
    expect(lines).toHaveLength(1);
    see({ ...UNREAD, fallbacks: ['signed_by_client'] }, 200);
    expect(lines).toMatchObject([{ cause: 'unknown' }, { cause: 'signed' }]);
    see(WHOLE, 1, DAY_MS);
    expect(lines).toHaveLength(3);
  });
});
