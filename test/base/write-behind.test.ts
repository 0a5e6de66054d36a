import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { WriteBehind, writeInParts } from '../../src/base/write-behind.ts';

it('many rows are written in order, in parts that do not block the event loop', async () => {
  const rows = Array.from({ length: 450 }, (_, i) => i);
  const reported: (number | string)[] = [];
  await writeInParts(rows, async (some) => {
    reported.push(some.length);
    setImmediate(() => reported.push('a turn'));
    expect(some[0]).toBe(rows[reported.filter(Number.isInteger).length * 200 - 200]);
  });
  expect(reported).toEqual([200, 'a turn', 200, 'a turn', 50]);
});

it('nothing is written after a part that failed', async () => {
  let tried = 0;
  const refuse = async (): Promise<void> => {
    tried++;
    throw new Error('full');
  };
  await expect(writeInParts(Array(1_000).fill(0), refuse)).rejects.toThrow('full');
  expect(tried).toBe(1);
});

it('writes in the next turn once a transaction is full, else after its delay', async () => {
  const waiting: number[] = [];
  const reported: number[] = [];
  const behind = new WriteBehind(async () => {
    reported.push(waiting.splice(0).length);
  }, 60_000);
  const add = (row: number): void => {
    waiting.push(row);
    behind.soon(waiting.length);
  };
  for (let row = 0; row < 199; row++) add(row);
  await nextTurn();
  expect(reported).toEqual([]);
  for (let row = 199; row < 250; row++) add(row);
  await nextTurn();
  expect(reported).toEqual([250]);
  await behind.flush();
});

it('delays rows that arrive during a write until it has ended', async () => {
  let end = (): void => {};
  let writes = 0;
  const behind = new WriteBehind(() => {
    writes++;
    return new Promise((resolve) => {
      end = resolve;
    });
  }, 60_000);
  behind.soon(200);
  await nextTurn();
  for (let i = 0; i < 1_000; i++) behind.soon(200 + i);
  await nextTurn();
  expect(writes).toBe(1);
  end();
  await nextTurn();
  behind.soon(1_200);
  await nextTurn();
  expect(writes).toBe(2);
  end();
  await nextTurn();
});
