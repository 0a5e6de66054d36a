import { expect, it } from 'vitest';
import { recogniseKind } from '../../src/engine/kinds/recognise.ts';
import { viewText } from '../../src/engine/text/view.ts';

function kindOf(lines: readonly string[], sourceType?: 'docs'): { name: string; family: string } {
  const { name, kind } = recogniseKind(viewText(lines.join('\n'), 0), sourceType, undefined);
  return { name, family: kind.family };
}

const prose = Array.from({ length: 400 }, (_, i) => `It is said here for the ${i}th time that nothing ever happens`);

it.each([4, 9, 33, 77])('a single heading makes a long text markdown, whichever sample contains it: line %i', (at) => {
  expect(kindOf(prose, 'docs').name).toBe('text');
  expect(kindOf(prose.with(at, '# A heading'), 'docs').name).toBe('markdown');
});

it.each([0, 1])('all lines decide the kind if two samples disagree: every fifth line from %i', (offset) => {
  const code = Array.from({ length: 400 }, (_, i) => `  const value${i} = compute(${i});`);
  const mixed = code.map((line, i) =>
    i % 5 === offset ? `2026-01-02T03:04:${String(i % 60).padStart(2, '0')} up` : line,
  );
  expect(kindOf(code).family).toBe('code');
  expect(kindOf(mixed).family).toBe('code');
});

it('a long uniform text has the same kind as a short one', () => {
  const log = Array.from({ length: 2_000 }, (_, i) => `2026-01-02T03:04:05 INFO request ${i} served in ${i % 90}ms`);
  expect(kindOf(log)).toEqual(kindOf(log.slice(0, 100)));
  expect(kindOf(log).name).toBe('log');
});
