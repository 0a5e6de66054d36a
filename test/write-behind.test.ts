import { expect, it } from 'vitest';
import { writeInParts } from '../src/write-behind.ts';

it('writes many rows in parts and in order, and whatever waits has its turn in between', async () => {
  const rows = Array.from({ length: 450 }, (_, i) => i);
  const told: (number | string)[] = [];
  await writeInParts(rows, async (some) => {
    told.push(some.length);
    setImmediate(() => told.push('a turn'));
    expect(some[0]).toBe(rows[told.filter(Number.isInteger).length * 200 - 200]);
  });
  expect(told).toEqual([200, 'a turn', 200, 'a turn', 50]);
});

it('writes nothing behind a part that could not be written', async () => {
  let tried = 0;
  const refuse = async (): Promise<void> => {
    tried++;
    throw new Error('full');
  };
  await expect(writeInParts(Array(1_000).fill(0), refuse)).rejects.toThrow('full');
  expect(tried).toBe(1);
});
