import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { exceededBound, type JsonBounds } from '../../../src/wires/json/bounds.ts';

const NONE: JsonBounds = { values: Number.POSITIVE_INFINITY, levels: Number.POSITIVE_INFINITY };

/** Values, keys and levels of a parsed value. */
function structureOf(value: unknown): { values: number; levels: number } {
  if (typeof value !== 'object' || value === null) return { values: 1, levels: 0 };
  const isList = Array.isArray(value);
  const members: unknown[] = Object.values(value);
  const of = members.map(structureOf);
  // an empty list counts as if it had one member
  const keys = isList ? 0 : members.length;
  const values = of.reduce((sum, one) => sum + one.values, 1 + keys) + (members.length === 0 ? 1 : 0);
  return { values, levels: 1 + Math.max(0, ...of.map((one) => one.levels)) };
}

describe('the structure of a JSON text', () => {
  it('is counted as in the parsed value, with or without white space', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.boolean(), async (value, spaced) => {
        const bytes = Buffer.from(JSON.stringify(value, null, spaced ? 2 : 0));
        const { values, levels } = structureOf(JSON.parse(bytes.toString()));
        expect(await exceededBound(bytes, { ...NONE, levels })).toBeNull();
        expect(await exceededBound(bytes, { ...NONE, values })).toBeNull();
        if (levels > 0) expect(await exceededBound(bytes, { ...NONE, levels: levels - 1 })).toBe('levels');
        if (levels > 0) expect(await exceededBound(bytes, { ...NONE, values: values - 2 })).toBe('values');
      }),
    );
  });

  it.each([
    ['[1,2,3]', 3],
    ['[[1,2],[3,4]]', 2],
    ['[{"a":1,"b":2}]', 1],
    [' [ "a,b" , "c\\",d" ] ', 2],
  ])('has the members of its outermost list: %s', async (text, items) => {
    expect(await exceededBound(Buffer.from(text), { ...NONE, items })).toBeNull();
    if (items > 1) expect(await exceededBound(Buffer.from(text), { ...NONE, items: items - 1 })).toBe('items');
  });

  it('is counted across the pieces that are read, and other tasks get a turn after each piece', async () => {
    const text = `{"a":"${'\\"['.repeat(1_000_000)}","b":[${'1,'.repeat(500_000)}1]}`;
    let turns = 0;
    let counting = true;
    const next = (): void => {
      turns++;
      if (counting) setImmediate(next);
    };
    setImmediate(next);
    expect(await exceededBound(Buffer.from(text), { ...NONE, values: 500_010, levels: 2 })).toBeNull();
    expect(await exceededBound(Buffer.from(text), { ...NONE, values: 500_000 })).toBe('values');
    counting = false;
    expect(turns).toBeGreaterThanOrEqual(6);
  });
});
