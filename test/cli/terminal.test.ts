import { linesOf } from '@mcp-pruner/agents/doctor/doctor.ts';
import { describe, expect, it } from 'vitest';
import { printableLine } from '../../src/cli/command.ts';

const HOSTILE = 'gpt\u001b]52;c;ZXZpbA==\u0007\u001b[2J\u009b31m\nFAIL  everything is lost\r\u2028x';

describe('untrusted text on a terminal', () => {
  it('is one line without control characters', () => {
    const shown = printableLine(HOSTILE);
    expect(shown).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    expect(shown).toContain('gpt');
  });

  it('is escaped in every finding of doctor', () => {
    const finding = { level: 'note', what: `a model without a price: ${HOSTILE}`, advice: HOSTILE } as const;
    const printed = linesOf(finding, { columns: 80, env: {}, outIsTerminal: false });
    expect(printed.split('\n').filter((line) => line.startsWith('FAIL'))).toEqual([]);
    expect(printed.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
