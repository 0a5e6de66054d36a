import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_DEPTH, MAX_VALUE_BYTES, namespaceOf, normaliseTags, valueTexts } from '../src/blackboard/board.ts';
import { decayed, normaliseType, strongestFirst, totalsOf } from '../src/stigmergy/field.ts';
import { atOnce } from './at-once.ts';

const at = fc.integer({ min: 0, max: 10_000_000 });
const point = fc.record({
  nodeId: fc.constantFrom('a', 'b'),
  type: fc.constantFrom('busy', 'done'),
  intensity: fc.double({ min: 1e-5, max: 10_000, noNaN: true }),
  updatedAt: at,
});

describe('a pheromone', () => {
  it('loses half its intensity in each half-life, and never gains any', () => {
    expect(decayed({ nodeId: 'a', type: 't', intensity: 8, updatedAt: 0 }, 2000, 1000).intensity).toBe(2);
    fc.assert(
      fc.property(point, at, fc.integer({ min: 1, max: 86_400_000 }), (one, now, halfLife) => {
        const { intensity, updatedAt } = decayed(one, now, halfLife);
        expect(intensity).toBeLessThanOrEqual(one.intensity);
        expect(intensity).toBeGreaterThanOrEqual(0);
        expect(updatedAt).toBe(Math.max(now, one.updatedAt));
      }),
    );
  });

  it('decays equally in two steps and in one', () => {
    fc.assert(
      fc.property(point, at, at, (one, a, b) => {
        const [early, late] = [Math.min(a, b) + one.updatedAt, Math.max(a, b) + one.updatedAt];
        const [twice, once] = [decayed(decayed(one, early, 1e7), late, 1e7), decayed(one, late, 1e7)];
        expect(twice.intensity).toBeCloseTo(once.intensity, 6);
      }),
    );
  });

  it('is summed per node, with the strongest node first', () => {
    const points = [
      { nodeId: 'a', type: 'x', intensity: 1, updatedAt: 5 },
      { nodeId: 'b', type: 'x', intensity: 4, updatedAt: 1 },
      { nodeId: 'a', type: 'y', intensity: 2, updatedAt: 3 },
    ];
    expect(totalsOf(points)).toEqual([
      { nodeId: 'b', intensity: 4, updatedAt: 1 },
      { nodeId: 'a', intensity: 3, updatedAt: 5 },
    ]);
    expect(strongestFirst(points).map(({ type, nodeId }) => nodeId + type)).toEqual(['bx', 'ay', 'ax']);
    expect(normaliseType('  Busy ')).toBe('busy');
    expect(normaliseType(' \t')).toBeNull();
  });
});

describe('a blackboard entry', () => {
  it.each([
    ['review:a', 'review'],
    ['review/a:b', 'review'],
    ['a|b', 'a'],
    ['plain', 'plain'],
    [':odd', ':odd'],
  ])('with the key %s is in the namespace %s', (key, namespace) => {
    expect(namespaceOf(key)).toBe(namespace);
  });

  it('has its tags sorted, in lower case and without duplicates', () => {
    expect(normaliseTags([' B', 'a', 'b', '', ' '])).toEqual(['a', 'b']);
  });

  it('is refused if it is too large, nested too deeply or exceeds the total size of a batch', () => {
    const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);
    expect(atOnce(valueTexts([undefined, { a: 1 }, deep(MAX_DEPTH)]))).toEqual(['null', '{"a":1}', expect.any(String)]);
    expect(() => atOnce(valueTexts([1, deep(MAX_DEPTH + 1)]))).toThrow(expect.objectContaining({ index: 1 }));
    expect(() => atOnce(valueTexts(['x'.repeat(MAX_VALUE_BYTES)]))).toThrow(expect.objectContaining({ index: 0 }));
    const many = Array.from({ length: 5 }, () => 'x'.repeat(MAX_VALUE_BYTES - 2));
    expect(() => atOnce(valueTexts(many))).toThrow(expect.objectContaining({ index: 4 }));
  });
});
