import { describe, expect, it } from 'vitest';
import { logLinePrinter } from '../../src/cli/log-line.ts';

const print = logLinePrinter((_, text) => text);
const line = (fields: object): string =>
  print(`${JSON.stringify({ level: 'info', time: '2026-01-10T12:34:56.789Z', ...fields })}\n`);
const request = {
  msg: 'chat completion',
  model: 'gpt-x',
  messages: 9,
  status: 200,
  totalMs: 1_234,
  tokensBefore: 20_000,
  tokensSaved: 15_000,
  pruneIds: ['prn_A', 'prn_B', 'prn_C', 'prn_D'],
};

describe('a log line for people', () => {
  it('is one line for a request, with its saving', () => {
    expect(line(request)).toBe(
      '12:34:56  chat completion  gpt-x, 9 messages  200  1.2 s  saved 15,000 tokens of its texts (75 %)  prn_B prn_C prn_D and 1 more\n',
    );
  });

  it('states when nothing was saved, and what would have been saved in shadow mode', () => {
    expect(line({ ...request, tokensSaved: 0, pruneIds: [] })).toMatch(/1\.2 s {2}nothing to save\n$/);
    expect(line({ ...request, shadow: true })).toContain('would save 15,000 tokens');
  });

  it('shows the fields of other lines by name, and an error by its type and message, on one line', () => {
    const err = { type: 'TypeError', message: 'no\nway', stack: 'at x' };
    expect(line({ level: 'warn', msg: 'pruning fell back', reason: 'timeout', err, empty: null })).toBe(
      '12:34:56  WARN  pruning fell back  reason=timeout err=TypeError: no way\n',
    );
  });

  it('removes characters that could control a terminal', () => {
    const shown = line({ ...request, model: 'm\u009b31m\u202egpt\u001b[2J' });
    for (const control of ['\u009b', '\u202e', '\u001b']) expect(shown).not.toContain(control);
    expect(shown).toContain('gpt');
    expect(print('no json \u009b31m\n')).toBe('no json \ufffd31m\n');
  });
});
