import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { longJsonFields } from '../../../src/wires/json/value.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';
import { jsonText } from '../../helpers/json-text.ts';

const MIN = 6;

/** The string values (not keys) of a JSON text in the order in which they stand, as far as it has no duplicate keys. */
function valuesOf(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(valuesOf);
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(valuesOf) : [];
}

describe('longJsonFields', () => {
  it('finds exactly the long values of several lines, and their literals', () => {
    fc.assert(
      fc.property(jsonText, (text) => {
        const fields = longJsonFields(text, MIN) ?? [];
        for (const { start, end, value } of fields) {
          expect(JSON.parse(text.slice(start, end))).toBe(value);
          expect(value.length).toBeGreaterThanOrEqual(MIN);
          expect(value).toContain('\n');
        }
        const found = new Set(fields.map(({ value }) => value));
        const wanted = valuesOf(JSON.parse(text)).filter((value) => value.length >= MIN && value.includes('\n'));
        // A duplicate key hides a value from JSON.parse; a line break may be spelled \u000a, which nobody does.
        if (/\\n/.test(text)) expect([...new Set(wanted)].every((value) => found.has(value))).toBe(true);
        expect(fields.map(({ start }) => start)).toEqual(fields.map(({ start }) => start).toSorted((a, b) => a - b));
      }),
    );
  });

  it('never mistakes a key for a value', () => {
    const text = JSON.stringify({ 'a long key\nof two lines': 1, other: 'a long value\nof two lines' });
    expect(longJsonFields(text, MIN)?.map(({ value }) => value)).toEqual(['a long value\nof two lines']);
  });

  it.each([
    ['plain text', 'line one\nline two\nline three'],
    ['text that only begins like JSON', '{"a":"b\\nc and more"} and then words'],
    ['a log line with JSON in it', '[INFO] {"a":"b\\nc and more"}'],
    ['JSON without long values', '{"a":"b\\nc","d":[1,2,3]}'],
    ['JSON whose long values are one line', JSON.stringify({ a: 'x'.repeat(100), b: '\\n' })],
    ['nothing', ''],
    ['white space', ' \n\t '],
    ['truncated JSON', '{"output":"one\\ntwo\\nthree'],
  ])('leaves %s alone', (_name, text) => expect(longJsonFields(text, MIN)).toBeNull());

  it('is not confused by depth or escapes', () => {
    const deep = `${'['.repeat(100_000)}"one\\ntwo\\nthree"${']'.repeat(100_000)}`;
    expect(longJsonFields(deep, MIN)?.map(({ value }) => value)).toEqual(['one\ntwo\nthree']);
    const startedAt = cpuMs();
    const dense = JSON.stringify({ a: '\\"\n'.repeat(1_000_000) });
    expect(longJsonFields(dense, MIN)).toHaveLength(1);
    expect(cpuMs() - startedAt).toBeLessThan(2_000);
  });
});
