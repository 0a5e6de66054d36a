import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { LineFigures } from '../src/line-figures.ts';
import { compactPaysAfter } from '../src/meter.ts';
import { clientStatus, lineOf, PARTS } from '../src/statusline/line.ts';
import { shortTime } from '../src/words.ts';

const NOW_MS = Date.parse('2026-11-27T10:00:00Z');
/** What Claude Code 2.1.332 wrote to its status line: before the first request, and after one. */
const [early, recorded] = JSON.parse(
  readFileSync(join(fileURLToPath(import.meta.url), '../claude-status.json'), 'utf8'),
) as [object, { readonly rate_limits: { readonly five_hour: { readonly resets_at: number } } }];
const AT = recorded.rate_limits.five_hour.resets_at * 1000 - 3_600_000;

const FIGURES: LineFigures = {
  session: 's',
  context: {
    model: 'claude-opus-5',
    tokens: 90_000,
    threshold: null,
    isLearned: false,
    cacheUntilMs: NOW_MS + 252_400,
    next: { warm: 0.09, cold: 0.51 },
    compactPaysAfter: 3,
  },
  windows: [
    { window: '5h', minutes: 300, used: 0.4, session: 0.061, resetsAtMs: NOW_MS + 7_200_000, usedUpAtMs: null },
    {
      window: '7d',
      minutes: 10_080,
      used: 0.61,
      session: 0,
      resetsAtMs: NOW_MS + 3 * 86_400_000,
      usedUpAtMs: NOW_MS + 29_400_000,
    },
  ],
  finished: null,
  savedDollars: 1.2,
};
const NOBODY = clientStatus('');

describe('a status line', () => {
  it('shows the figures of the proxy in the default order', () => {
    const line = lineOf(PARTS, { client: NOBODY, figures: FIGURES, nowMs: NOW_MS });
    expect(line).toBe(
      `ctx 90k · cache 4:12 · next $0.09 · 5h 40% (this 6.1) · week 61% → ${shortTime(NOW_MS + 29_400_000)} · saved $1.20`,
    );
  });

  it('names finished work, and leaves it out right after a compaction', () => {
    const figures = { ...FIGURES, finished: '187k of finished work, $0.09 a turn: /compact' };
    const line = (client: typeof NOBODY) => lineOf(PARTS, { client, figures, nowMs: NOW_MS });
    expect(line(NOBODY)).toContain(' · next $0.09 · 187k of finished work, $0.09 a turn: /compact · 5h 40%');
    expect(line({ ...NOBODY, tokens: 0 })).not.toContain('finished');
  });

  it('shows the context and windows that Claude Code reports, and the other figures from the proxy', () => {
    const client = clientStatus(JSON.stringify(recorded));
    expect(client).toMatchObject({
      sessionId: expect.any(String),
      tokens: 84_000,
      contextWindow: 1_000_000,
      version: '2.1.332',
    });
    const windows = FIGURES.windows.map((one) => ({ ...one, resetsAtMs: AT + 7_200_000, usedUpAtMs: null }));
    const line = lineOf(PARTS, { client, figures: { ...FIGURES, windows }, nowMs: AT });
    expect(line).toMatch(/^ctx 84k of 967k · .* · 5h 42% \(this 6\.1\) · week 61% · saved \$1\.20$/);
  });

  it.each([
    ['', 'mcp-pruner: no proxy answers'],
    ['{}', 'mcp-pruner: no proxy answers'],
    ['[1]', 'mcp-pruner: no proxy answers'],
    [
      '{"rate_limits":{"five_hour":null},"context_window":{"current_usage":null},"model":7}',
      'mcp-pruner: no proxy answers',
    ],
    ['{"context_window":{"current_usage":{"input_tokens":1200}}}', 'ctx 1k'],
    ['{"rate_limits":{"five_hour":{"used_percentage":42.4}}}', '5h 42%'],
    [
      '{"version":"1.0.9","context_window":{"context_window_size":200000,"current_usage":{"input_tokens":900}}}',
      'ctx 900 of 200k',
    ],
  ])('of %s without a proxy is short, and never empty', (text, line) => {
    expect(lineOf(PARTS, { client: clientStatus(text), figures: null, nowMs: NOW_MS })).toBe(line);
  });

  it('of a session without requests or a proxy reports that no proxy answers', () => {
    const client = clientStatus(JSON.stringify(early));
    expect(client).toMatchObject({ sessionId: expect.any(String), tokens: null, windows: [] });
    expect(lineOf(PARTS, { client, figures: null, nowMs: AT })).toBe('mcp-pruner: no proxy answers');
  });

  it('without a proxy shows the windows and the cache that Claude Code reports', () => {
    const line = lineOf(PARTS, { client: clientStatus(JSON.stringify(recorded)), figures: null, nowMs: AT });
    expect(line).toMatch(/^ctx 84k of 967k · cache 60:\d\d · 5h 42% · week 61% → \w{3} \d\d:\d\d$/);
  });

  it('shows the selected parts in the given order, and ignores unknown parts', () => {
    const of = (parts: string[]) => lineOf(parts, { client: NOBODY, figures: FIGURES, nowMs: NOW_MS });
    expect(of(['5h', 'nothing', 'ctx'])).toBe('5h 40% (this 6.1) · ctx 90k');
    expect(of(['compact'])).toBe('compacting pays after 3 turns');
    expect(of(['toString', '__proto__'])).toBe('mcp-pruner: no figures yet');
  });

  it('shows that the cache is cold, and the resulting cost of the next turn', () => {
    const line = lineOf(['cache', 'next'], { client: NOBODY, figures: FIGURES, nowMs: NOW_MS + 252_400 });
    expect(line).toBe('cache cold · next $0.51');
  });

  it('shows no context and no next turn between a compaction and the next answer', () => {
    const client = clientStatus('{"context_window":{"current_usage":{"input_tokens":0,"cache_read_input_tokens":0}}}');
    expect(lineOf(['ctx', 'next', 'saved'], { client, figures: FIGURES, nowMs: NOW_MS })).toBe('saved $1.20');
  });

  it('omits a window whose reset time has passed', () => {
    expect(lineOf(['5h', 'week'], { client: NOBODY, figures: FIGURES, nowMs: NOW_MS + 7_200_000 })).toMatch(
      /^week 61%/,
    );
  });
});

it('compacting pays off once the savings of later turns cover the summary and the new context', () => {
  const rates = { input: 5, write5m: 6.25, write1h: 10, read: 0.5, output: 25 };
  // 100k read .05, summary .0625, 25k written .15625: .26875; each turn saves 75k at .5: .0375
  expect(compactPaysAfter(rates, 100_000, false)).toBe(8);
  expect(compactPaysAfter(rates, 25_000, false)).toBeNull();
});
