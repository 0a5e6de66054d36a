import { describe, expect, it } from 'vitest';
import { rulesOf } from './helpers.ts';

describe('a run of pytest that stopped early', () => {
  const WORDS = ['basket', 'invoice', 'order', 'payment', 'voucher'];
  const passed = (i: number): string =>
    `tests/test_shop.py::test_${WORDS[i % 5]}_${WORDS[(i * 3) % 5]} PASSED [${i % 100}%]`;
  it.each([
    ['', 'KeyboardInterrupt'],
    ['', '_pytest.outcomes.Exit: the license server is away'],
    ['2026-07-30T11:29:42.0798194Z ', 'xdist.dsession.Interrupted: 3 workers ran out of time'],
  ])('%skeeps why: %s', (stamp, reason) => {
    const banner = `${stamp}!!!!!!!!!!!!!!!!!!!! ${reason} !!!!!!!!!!!!!!!!!!!!`;
    const lines = [
      `${stamp}============ test session starts ============`,
      ...Array.from({ length: 60 }, (_, i) => stamp + passed(i)),
      banner,
      `${stamp}(to show a full traceback use --full-trace)`,
      ...Array.from({ length: 60 }, (_, i) => stamp + passed(i + 60)),
      `${stamp}===== 120 passed in 3.21s =====`,
    ];
    expect(rulesOf(lines, 'Which voucher is checked?')[lines.indexOf(banner)]).toBe('failure');
  });
});
