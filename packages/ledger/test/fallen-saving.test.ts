import { describe, expect, it } from 'vitest';
import { type DaySaving, fallenNotes } from '../src/report.ts';

const day = (name: string, values: Partial<DaySaving>): DaySaving => ({
  day: name,
  requests: 60,
  looked: 90_000,
  removed: 0,
  wouldRemove: 0,
  ...values,
});
const BEFORE = day('2026-11-01', { removed: 12_345 });

describe('the note that a day saved nothing', () => {
  it('names the day before and its saving', () => {
    expect(fallenNotes([day('2026-11-02', { requests: 20 }), BEFORE])).toEqual([
      'nothing was saved in 20 requests on 2026-11-02, 12,345 tokens on 2026-11-01: all tool results were left whole; run mcp-pruner doctor to find the cause',
    ]);
  });

  it('names shadow mode, and requests in which nothing was examined', () => {
    expect(fallenNotes([day('2026-11-02', { wouldRemove: 5 }), BEFORE])[0]).toContain('shadow mode');
    expect(fallenNotes([day('2026-11-02', { looked: 0 }), BEFORE])[0]).toContain('no tool result was examined');
  });

  it('needs 50 requests with large results if no day before saved anything', () => {
    expect(fallenNotes([day('2026-11-02', {})])).toHaveLength(1);
    expect(fallenNotes([day('2026-11-02', { requests: 49 })])).toEqual([]);
    expect(fallenNotes([day('2026-11-02', { looked: 0 })])).toEqual([]);
  });

  it('is absent if the newest day saved something or had few requests, or if there is no day', () => {
    expect(fallenNotes([day('2026-11-02', { removed: 1 }), BEFORE])).toEqual([]);
    expect(fallenNotes([day('2026-11-02', { requests: 19 }), BEFORE])).toEqual([]);
    expect(fallenNotes([])).toEqual([]);
  });
});
