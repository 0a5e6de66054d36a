import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { PrefixBytes } from '../../src/core/request/prefix-memo.ts';

it('a growing conversation rarely moves to a new buffer', () => {
  const body = Buffer.alloc(40_000, 'abcdefg');
  let kept = PrefixBytes.of(body, 10_000, null, 0);
  const rooms = new Set([kept.bytes.buffer]);
  for (let length = 11_000; length <= 40_000; length += 1_000) {
    kept = PrefixBytes.of(body, length, kept, kept.bytes.length);
    rooms.add(kept.bytes.buffer);
  }
  expect(kept.bytes.equals(body)).toBe(true);
  expect(rooms.size).toBeLessThan(6);
  expect(kept.memory).toBeLessThan(60_001);
});

it('a kept prefix copies its own bytes instead of holding the whole body', () => {
  const body = Buffer.alloc(100_000, 'x');
  const kept = PrefixBytes.of(body, 1_000, null, 0);
  expect(kept.memory).toBe(1_000);
  body.fill('y');
  expect(kept.bytes.equals(Buffer.alloc(1_000, 'x'))).toBe(true);
});

it('a body that begins anew is kept itself, and never written to', () => {
  const text = 'x'.repeat(99_900);
  const body = Buffer.allocUnsafeSlow(100_000).fill(`${text}${'"}]'.padEnd(100)}`);
  const received = Buffer.from(body);
  const kept = PrefixBytes.of(body, text.length, null, 0);
  expect(kept.bytes.buffer).toBe(body.buffer);
  const longer = Buffer.from(`${text}${'and more'.repeat(9_000)}`);
  const next = PrefixBytes.of(longer, longer.length, kept, text.length);
  expect(next.bytes.equals(longer)).toBe(true);
  expect(body.equals(received)).toBe(true);
  expect(kept.bytes.toString()).toBe(text);
});

it('kept bytes never change, whichever conversation continues from them', () => {
  const step = fc.record({ from: fc.nat(), share: fc.double({ min: 0, max: 1, noNaN: true }), tail: fc.string() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const all = [{ kept: PrefixBytes.of(Buffer.from('{'), 1, null, 0), bytes: Buffer.from('{') }];
      for (const { from, share, tail } of steps) {
        const before = all[from % all.length];
        if (!before) continue;
        // most go on from the whole of what was kept, some part from it earlier
        const shared = share < 0.6 ? before.bytes.length : Math.floor(share * before.bytes.length);
        const bytes = Buffer.concat([before.bytes.subarray(0, shared), Buffer.from(tail)]);
        const body = Buffer.concat([bytes, Buffer.from('] and more')]);
        all.push({ kept: PrefixBytes.of(body, bytes.length, before.kept, shared), bytes });
      }
      for (const { kept, bytes } of all) expect(kept.bytes.equals(bytes)).toBe(true);
    }),
  );
});
