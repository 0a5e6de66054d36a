import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { addDeclared, addMentions, KeySet, pathKey, pathKeys } from '../src/keys.ts';
import { ReferenceTable } from '../src/reference-table.ts';

function mentions(text: string): Set<number> {
  const keys = new KeySet(1_000);
  addMentions(text, keys, 100_000);
  return new Set(keys.toArray());
}

function declared(text: string): Set<number> {
  const keys = new KeySet(1_000);
  addDeclared(text, keys, 100_000);
  return new Set(keys.toArray());
}

describe('a path', () => {
  it.each([
    ['/home/me/shop/src/orders.ts', 'src/orders.ts'],
    ['C:\\work\\shop\\src\\orders.ts', 'src/orders.ts'],
    ['./src/orders.ts', 'src/orders.ts'],
  ])('is the same file as %s and as %s', (one, other) => {
    expect(pathKey(one)).toBe(pathKey(other));
  });

  it('differs from a path with the same file name in another folder', () => {
    expect(pathKey('src/orders.ts')).not.toBe(pathKey('test/orders.ts'));
  });

  it.each([
    'Look at src/orders.ts:118 again.',
    'It is in `/srv/app/src/orders.ts`, I think',
    'Now open src/orders.ts.',
    'orders.ts is wrong',
  ])('is found in “%s”', (text) => {
    expect(pathKeys('/work/shop/src/orders.ts').some((key) => mentions(text).has(key))).toBe(true);
  });

  it('with a common file name is not matched by a mention of the name alone', () => {
    expect(pathKeys('src/payments/index.ts').some((key) => mentions('open index.ts').has(key))).toBe(false);
  });
});

describe('an identifier', () => {
  it('that a file declares is found where a text mentions it', () => {
    const file = declared('export async function chargeOrder(id: string) {\n  const total = sumOf(id);\n}');
    const named = (text: string) => [...file].some((key) => mentions(text).has(key));
    expect(named('why does chargeOrder throw?')).toBe(true);
    expect(named('payments.chargeOrder(7) throws')).toBe(true);
    expect(named('sumOf is fine')).toBe(false); // used, not declared
  });
});

describe('references in any text', () => {
  it('are limited in number', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 2_000 }), (text) => {
        const keys = new KeySet(20);
        addMentions(text, keys, 1_000);
        addDeclared(text, keys, 1_000);
        const found = keys.toArray();
        expect(found.length).toBeLessThanOrEqual(20);
        expect(found).not.toContain(0);
      }),
    );
  });

  it('take time proportional to the text', () => {
    const time = (text: string): number => {
      const began = process.cpuUsage();
      addMentions(text, new KeySet(1e9), 1e9);
      return process.cpuUsage(began).user / 1_000;
    };
    for (const unit of ['a', '/', '.', 'a/', '-.', 'ab.cd ']) {
      const short = time(unit.repeat(40_000));
      // five times the text; what grew with its square would take 25 times as long
      expect(time(unit.repeat(200_000)), JSON.stringify(unit)).toBeLessThan(15 * short + 200);
    }
  });
});

describe('the table of references', () => {
  it('finds the same entries as a map', () => {
    const reference = fc.record({ key: fc.integer({ min: 0, max: 3_000 }), reach: fc.integer({ min: 0, max: 4 }) });
    fc.assert(
      fc.property(fc.array(reference, { maxLength: 4_000, size: 'max' }), (references) => {
        const table = new ReferenceTable();
        const map = new Map<number, { count: number; ordinal: number; reach: number }>();
        references.forEach(({ key, reach }, i) => {
          const ordinal = references.length - i;
          table.add(key, ordinal, reach / 4);
          if (key === 0) return;
          const known = map.get(key) ?? { count: 0, ordinal, reach: 0 };
          map.set(key, { count: known.count + 1, ordinal: known.ordinal, reach: Math.max(known.reach, reach / 4) });
        });
        for (let key = 0; key <= 3_000; key++) {
          const slot = table.find(key);
          const known = map.get(key);
          expect(table.count(slot)).toBe(known?.count ?? 0);
          if (known) expect([table.ordinal(slot), table.reach(slot)]).toEqual([known.ordinal, known.reach]);
        }
      }),
      { numRuns: 20 },
    );
  });
});
