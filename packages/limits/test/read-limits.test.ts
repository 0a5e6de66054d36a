import { limitsInEvent, limitsInFields } from '@mcp-pruner/money/limits/read-limits.ts';
import { describe, expect, it } from 'vitest';
import { LimitBooks } from './provider.ts';

const NOW_MS = Date.parse('2026-11-27T10:00:00Z');
const NOW_S = NOW_MS / 1000;

function read(headers: Readonly<Record<string, string>>) {
  return limitsInFields(Object.entries(headers).flat(), NOW_S);
}

describe('limits in the headers of an answer', () => {
  it('include the windows of a Claude subscription, even those of individual models', () => {
    const headers = {
      'Anthropic-Organization-Id': 'org-1',
      'anthropic-ratelimit-unified-5h-utilization': '0.42',
      'anthropic-ratelimit-unified-5h-reset': '1796000000',
      'anthropic-ratelimit-unified-5h-status': 'allowed_warning',
      'anthropic-ratelimit-unified-7d_opus-utilization': '1.03',
      'anthropic-ratelimit-unified-7d_opus-reset': '1796400000',
    };
    expect(read(headers)).toEqual({
      provider: 'anthropic',
      accountId: 'org-1',
      plan: null,
      windows: [
        { window: '5h', minutes: 300, used: 420_000, resetsS: 1_796_000_000, status: 'allowed_warning' },
        { window: '7d_opus', minutes: 10_080, used: 1_030_000, resetsS: 1_796_400_000, status: null },
      ],
    });
  });

  it.each([
    ['', '1796000000'],
    ['n/a', '1796000000'],
    ['-0.1', '1796000000'],
    ['0x1', '1796000000'],
    ['0.42', ''],
    ['0.42', 'soon'],
    ['0.42', '2026-11-27T15:00:00Z'],
  ])('takes nothing from a utilization of %j and a reset of %j', (utilization, reset) => {
    expect(
      read({
        'anthropic-ratelimit-unified-5h-utilization': utilization,
        'anthropic-ratelimit-unified-5h-reset': reset,
      }),
    ).toBeNull();
  });

  it('exclude the limits of an API key, and the overage', () => {
    expect(
      read({
        'anthropic-ratelimit-requests-limit': '50',
        'anthropic-ratelimit-tokens-remaining': '40000',
        'anthropic-ratelimit-tokens-reset': '2026-11-27T10:01:00Z',
        'x-ratelimit-remaining-requests': '99',
        'anthropic-ratelimit-unified-overage-utilization': '0.5',
        'anthropic-ratelimit-unified-overage-reset': '1796000000',
      }),
    ).toBeNull();
  });

  it('name the windows of a Codex login by their minutes, whatever their position', () => {
    const books = new LimitBooks(NOW_MS);
    books.use(12);
    const usual = read(books.codex(NOW_MS));
    books.positions = ['secondary', 'primary'];
    expect(read(books.codex(NOW_MS))).toEqual(usual);
    expect(usual).toMatchObject({
      provider: 'openai',
      plan: 'pro',
      windows: [
        { window: '5h', minutes: 300, used: 120_000 },
        { window: '7d', minutes: 10_080, used: 60_000 },
      ],
    });
  });

  it('use the seconds until the reset if there is no reset time', () => {
    const books = new LimitBooks(NOW_MS);
    expect(read(books.codex(NOW_MS, 'after'))).toEqual(read(books.codex(NOW_MS, 'at')));
  });

  it('keep named limits separate, both in headers and in events', () => {
    const headers = {
      'x-codex-bengalfox-primary-used-percent': '80',
      'x-codex-bengalfox-primary-window-minutes': '299',
      'x-codex-bengalfox-primary-reset-at': '1796000000',
    };
    const window = { window: '5h_codex_bengalfox', minutes: 299, used: 800_000 };
    expect(read(headers)?.windows).toMatchObject([window]);
    const event = {
      type: 'codex.rate_limits',
      limit_name: 'codex_bengalfox',
      rate_limits: { primary: { used_percent: 80, window_minutes: 299, reset_at: 1_796_000_000 } },
    };
    expect(limitsInEvent(Buffer.from(JSON.stringify(event)), NOW_S)?.windows).toMatchObject([window]);
  });

  it('exclude windows without minutes or reset', () => {
    expect(read({ 'x-codex-primary-used-percent': '10', 'x-codex-primary-reset-at': '1796000000' })).toBeNull();
    expect(read({ 'x-codex-primary-used-percent': '10', 'x-codex-primary-window-minutes': '300' })).toBeNull();
    expect(
      read({
        'x-codex-primary-used-percent': '0',
        'x-codex-primary-window-minutes': '0',
        'x-codex-primary-reset-at': '0',
      }),
    ).toBeNull();
  });
});

describe('limits in a WebSocket event', () => {
  it('equal the limits in the headers', () => {
    const books = new LimitBooks(NOW_MS);
    books.use(33);
    const { windows } = limitsInEvent(Buffer.from(books.event()), NOW_S) ?? { windows: [] };
    expect(windows.map((one) => ({ ...one, status: null }))).toEqual(read(books.codex(NOW_MS))?.windows);
    expect(windows.map(({ status }) => status)).toEqual(['allowed', 'allowed']);
  });

  it.each([
    '',
    '[]',
    '{"type":"codex.rate_limits"}',
    '{"type":"other","rate_limits":{}}',
    '{"type":"codex.rate_limits","rate_limits":{"primary":{"used_percent":"12","window_minutes":300,"reset_at":1}}}',
  ])('takes nothing from %s', (frame) => {
    expect(limitsInEvent(Buffer.from(frame), NOW_S)).toBeNull();
  });
});
