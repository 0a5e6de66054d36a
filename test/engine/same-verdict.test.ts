import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import type { Cut, Origin } from '../../src/engine/types.ts';

const FORMS: readonly ((line: number) => string)[] = [
  (line) => `${line}\t`,
  (line) => `${String(line).padStart(6)}\t`,
  (line) => `${String(line).padStart(6)}→`,
  (line) => `${line}: `,
  (line) => `${line}. `,
];

const LINE = fc.constantFrom(
  '',
  'export function parseThing(text) {',
  '  const parts = text.split(",");',
  '  return parts.map((part) => part.trim());',
  '}',
  '// what a reader of this file wants to know',
  'const limit = 12;',
);

function cutsOf(text: string, origin: Origin): readonly Cut[] {
  const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
  return planPrune({ text, goal: 'what is the limit?', hints: { origin, path: 'a.ts' }, limits }).cuts;
}

describe('the same file', () => {
  it('gets the same plan with and without line numbers', () => {
    const origins = fc.constantFrom<Origin>('read', 'command', 'unknown');
    const file = fc.array(LINE, { minLength: 80, maxLength: 300 });
    fc.assert(
      fc.property(file, origins, (lines, origin) => {
        const plain = cutsOf(lines.map((line) => `${line}\n`).join(''), origin);
        for (const number of FORMS) {
          expect(cutsOf(lines.map((line, i) => `${number(i + 1)}${line}\n`).join(''), origin)).toEqual(plain);
        }
      }),
      { numRuns: 30 },
    );
  });
});

describe('entries that are cut boldly', () => {
  it('keep the line that reports a failure in JSON', () => {
    const tests = Array.from(
      { length: 200 },
      (_, i) => `    {\n      "title": "case ${i}",\n      "status": "passed"\n    },`,
    );
    const failed =
      '    {\n      "title": "ten percent",\n      "message": "AssertionError: expected 18 to equal 17.99"\n    },';
    const text = `{\n  "tests": [\n${tests.toSpliced(120, 0, failed).join('\n')}\n    {}\n  ]\n}\n`;
    const cuts = cutsOf(text, 'command');
    const line = text.split('\n').findIndex((one) => one.includes('17.99')) + 1;
    expect(cuts.length).toBeGreaterThan(0);
    expect(cuts.some(({ startLine, endLine }) => startLine <= line && line <= endLine)).toBe(false);
  });
});
