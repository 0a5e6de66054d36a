import fc from 'fast-check';
import { splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/helpers/cpu-time.ts';
import { keptLines } from '../src/align.ts';

/** Line numbers (from 1) that were found to be kept, or `null`. */
function kept(original: string, pruned: string): number[] | null {
  const flags = keptLines(splitLines(original), pruned);
  return flags && [...flags].flatMap((flag, i) => (flag === 1 ? [i + 1] : []));
}

const CODE = [
  'function a() {',
  '  return 1;',
  '}',
  '',
  'function b() {',
  '  return 2;',
  '}',
  '',
  'function c() {',
  '  return 1;',
  '}',
].join('\n');

describe('finding the kept lines of a pruned text', () => {
  it('resolves equal lines by their neighbours', () => {
    expect(kept(CODE, 'function b() {\n  return 2;\n}')).toEqual([5, 6, 7]);
    expect(kept(CODE, 'function c() {\n  return 1;\n}\n')).toEqual([9, 10, 11]);
    expect(kept(CODE, 'function a() {\n  return 1;\n}\nfunction c() {\n}')).toEqual([1, 2, 3, 9, 11]);
  });

  it('skips placeholders of the service, and uses them to find the next position', () => {
    expect(kept(CODE, 'function a() {\n(filtered 5 lines)\n}')).toEqual([1, 7]);
    expect(kept(CODE, '(filtered 9 lines)\n  return 1;\n}')).toEqual([10, 11]);
    expect(kept(CODE, '// ...\n  return 2;\n# …\n  return 1;')).toEqual([6, 10]);
    const marker = '⟦PRUNÉ: prune_id=prn_0123456789AB lignes 1-9 (9) raison=hors focus⟧';
    expect(kept(CODE, `${marker}\n  return 1;\n}`)).toEqual([10, 11]);
  });

  it('treats a line that looks like a placeholder as an ordinary line', () => {
    const stub = 'class A:\n    ...\nclass B:\n    ...\nend';
    expect(kept(stub, 'class A:\n    ...\nclass B:\n    ...')).toEqual([1, 2, 3, 4]);
    expect(kept('...\nfirst\nsecond', 'first\n...\nsecond')).toEqual([2, 3]);
  });

  it('ignores line endings, trailing whitespace and blank lines', () => {
    expect(kept('a  \r\n\r\nb\r\nc\r\n', 'a\n\n\nc')).toEqual([1, 4]);
    const flags = keptLines(splitLines('a\n\nb\n'), 'b');
    expect([...(flags ?? [])]).toEqual([0, Number.NaN, 1]);
  });

  it.each([
    ['a line that the original does not have', 'function b() {\n  return 3;\n}'],
    ['lines out of order', '  return 2;\nfunction b() {'],
    ['a line more often than the original has it', '  return 2;\n  return 2;'],
    ['a summary', 'Three functions that return numbers.'],
    ['nothing', ''],
    ['placeholders alone', '(filtered 11 lines)'],
  ])('refuses %s', (_what, pruned) => {
    expect(kept(CODE, pruned)).toBeNull();
  });

  it('finds positions with equal lines for every selection of lines of any text', () => {
    const line = fc.constantFrom('a', 'b', '}', '', ' x', '...', '# ...');
    fc.assert(
      fc.property(fc.array(fc.tuple(line, fc.boolean()), { maxLength: 60 }), (rows) => {
        const original = rows.map(([text]) => text);
        const selected = rows.filter(([, isKept]) => isKept).map(([text]) => text);
        const found = kept(original.join('\n'), selected.join('\n'));
        const wanted = selected.map((text) => text.trimEnd()).filter((text) => text !== '');
        const read = found?.map((number) => original[number - 1] ?? '') ?? [];
        expect(read).toEqual(wanted);
      }),
    );
  });

  it('takes time proportional to the text, even if all lines are equal', () => {
    const original = '}\n'.repeat(60_000);
    const startedAt = cpuMs();
    expect(kept(original, '}\n'.repeat(30_000))).toHaveLength(30_000);
    expect(cpuMs() - startedAt).toBeLessThan(3_000);
  });
});
