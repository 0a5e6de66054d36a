import { NotUnderstood } from 'mcp-pruner/proxy/report/not-understood.ts';
import { describe, expect, it } from 'vitest';
import { checkUnread } from '../src/doctor/unread.ts';

describe('requests that a proxy could not read', () => {
  it('are reported with their count and a remedy, and only if there were any', () => {
    const notUnderstood = new Map([
      ['encoding_not_understood', 12],
      ['websocket_not_opened', 1],
      ['upgrade_refused', 0],
      ['of_a_newer_version', 3],
    ]);
    const findings = checkUnread({ notUnderstood });
    expect(findings.map(({ level }) => level)).toEqual(['note', 'note']);
    expect(findings[0]?.what).toMatch(/^12 .*\(encoding_not_understood\)$/);
    expect(findings[0]?.advice).toContain('zstd');
    expect(findings[1]?.advice).toContain('supports_websockets');
    expect(checkUnread(null)).toEqual([]);
    expect(checkUnread({})).toEqual([]);
  });

  it('include requests whose new texts passed whole for lack of time, memory or an available store', () => {
    const counts = new NotUnderstood();
    for (const code of ['timeout', 'overloaded', 'store_locked', 'store_full', 'left_alone']) counts.count(code);
    const findings = checkUnread({ notUnderstood: new Map(Object.entries(counts.report())) });
    expect(findings.map(({ what }) => /^(\d) .*passed whole \((\w+)\)$/.exec(what)?.slice(1))).toEqual([
      ['1', 'timeout'],
      ['1', 'overloaded'],
      ['2', 'store_unavailable'],
    ]);
  });
});
