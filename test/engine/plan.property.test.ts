import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { rawLine, splitLines } from '../../src/engine/text/lines.ts';
import { annotate, renderText } from '../../src/engine/text/render.ts';
import type { Origin, PruneInput } from '../../src/engine/types.ts';

const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ maxLength: 60 }) },
  fc.string({ unit: 'binary', maxLength: 30 }),
  fc.constantFrom(
    'def load(path):',
    '    return open(path).read()',
    'ERROR: cannot open file',
    '2024-01-01 10:00:00 INFO request served',
    '# Title',
    '```js',
    '```',
    '⟦NO_PRUNE_BEGIN⟧',
    '⟦NO_PRUNE_END⟧',
    '⟦PRUNÉ: prune_id=prn_x lignes 1-2 (2) raison=x⟧',
    '@@ -1,2 +1,2 @@',
    'src/a.ts:12:export const a = 1;',
    '\ud83d',
    '\u0000',
    '   12\tnumbered',
    '  "key": [',
    '',
  ),
);
const ending = fc.constantFrom('\n', '\n', '\n', '\r\n', '\r');
const text = fc
  .array(fc.tuple(piece, ending, fc.integer({ min: 1, max: 12 })), { maxLength: 60 })
  .map((parts) => parts.map(([line, end, times]) => (line + end).repeat(times)).join(''));
const origin = fc.constantFrom<Origin>('read', 'command', 'search', 'listing', 'unknown');
const input: fc.Arbitrary<PruneInput> = fc.record(
  {
    text: fc.oneof(
      text,
      text.map((t) => t.slice(0, -1)),
    ),
    goal: fc.oneof(fc.constant(''), fc.string({ maxLength: 40 }), fc.constant('why does load fail on a missing path?')),
    sourceType: fc.constantFrom('code', 'logs', 'docs'),
    hints: fc.record(
      { origin, path: fc.constantFrom('a.py', 'b.md', 'c.json'), frameHead: fc.nat(3), frameTail: fc.nat(3) },
      { requiredKeys: ['origin'] },
    ),
    limits: fc.record({
      maxPruneRatio: fc.double({ min: 0, max: 1, noNaN: true }),
      minKeepLines: fc.nat(30),
    }),
  },
  { requiredKeys: ['text', 'goal', 'limits'] },
);

/** Lines as a person sees them, in a window of 200 characters. */
function seenLines(text: string, isKept: (line: number) => boolean): number {
  const { starts, count } = splitLines(text);
  let seen = 0;
  for (let i = 0; i < count; i++) {
    if (isKept(i + 1)) seen += Math.ceil(((starts[i + 1] ?? text.length) - (starts[i] ?? 0)) / 200);
  }
  return seen;
}

describe('planPrune on any text and any options', () => {
  it('keeps the minimum number of lines, with long lines counted as several, if the caller set no limits', () => {
    fc.assert(
      fc.property(input, (given) => {
        const { cuts } = planPrune(given);
        const isKept = (line: number): boolean => !cuts.some((cut) => line >= cut.startLine && line <= cut.endLine);
        const least = Math.min(
          given.limits.minKeepLines,
          seenLines(given.text, () => true),
        );
        expect(seenLines(given.text, isKept)).toBeGreaterThanOrEqual(least);
      }),
      { numRuns: 200 },
    );
  });

  it('respects the limits of the caller, with cuts in order and without overlap', () => {
    fc.assert(
      fc.property(input, (given) => {
        const { cuts, lineCount, warnings } = planPrune({ ...given, asked: true });
        let last = -1;
        let gone = 0;
        for (const { startLine, endLine } of cuts) {
          expect(startLine).toBeGreaterThan(last + 1);
          expect(endLine).toBeGreaterThanOrEqual(startLine);
          expect(endLine).toBeLessThanOrEqual(lineCount);
          last = endLine;
          gone += endLine - startLine + 1;
        }
        expect(gone).toBeLessThanOrEqual(Math.floor(given.limits.maxPruneRatio * lineCount + 1e-9));
        expect(lineCount - gone).toBeGreaterThanOrEqual(Math.min(lineCount, given.limits.minKeepLines));
        expect(warnings.includes('constraints_unmet')).toBe(given.limits.minKeepLines > lineCount);
      }),
      { numRuns: 400 },
    );
  });

  it('keeps lines verbatim: the kept text and the cut ranges together restore the original', () => {
    fc.assert(
      fc.property(input, (given) => {
        const lines = splitLines(given.text);
        const annotations = annotate(planPrune(given).cuts, 'prn_0123456789ab');
        const shown = renderText(lines, annotations, { annotateLines: false, includeMarkers: true });
        let at = 0;
        let line = 1;
        let rebuilt = '';
        const keepUpTo = (last: number): void => {
          for (; line <= last; line++) {
            const raw = rawLine(lines, line);
            expect(shown.slice(at, at + raw.length)).toBe(raw);
            rebuilt += raw;
            at += raw.length;
          }
        };
        for (const { startLine, endLine, marker } of annotations) {
          keepUpTo(startLine - 1);
          expect(shown.slice(at, at + marker.length)).toBe(marker);
          at += marker.length + (rawLine(lines, endLine).endsWith('\n') ? 1 : 0);
          for (; line <= endLine; line++) rebuilt += rawLine(lines, line);
        }
        keepUpTo(lines.count);
        expect(at).toBe(shown.length);
        expect(rebuilt).toBe(given.text);
      }),
      { numRuns: 300 },
    );
  });

  it('returns the same plan for the same input', () => {
    fc.assert(
      fc.property(input, (given) => {
        expect(planPrune(given)).toEqual(planPrune(given));
      }),
      { numRuns: 100 },
    );
  });

  it('never cuts lines that a directive or a frame protects', () => {
    fc.assert(
      fc.property(input, (given) => {
        const lines = splitLines(given.text);
        const gone = new Set<number>();
        for (const { startLine, endLine } of planPrune(given).cuts) {
          for (let line = startLine; line <= endLine; line++) gone.add(line);
        }
        for (let line = 1; line <= Math.min(lines.count, given.hints?.frameHead ?? 0); line++) {
          expect(gone.has(line)).toBe(false);
        }
        let fenced = false;
        for (let line = 1; line <= lines.count; line++) {
          const bare = rawLine(lines, line).trim();
          if (bare === '⟦NO_PRUNE_BEGIN⟧') fenced = true;
          if (fenced) expect(gone.has(line)).toBe(false);
          if (bare === '⟦NO_PRUNE_END⟧') fenced = false;
        }
      }),
      { numRuns: 300 },
    );
  });
});
