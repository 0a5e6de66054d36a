import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it, vi } from 'vitest';
import { WriteBehind, writeInParts } from '../../src/base/write-behind.ts';

afterEach(() => {
  vi.useRealTimers();
});

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

it('nothing is written after a part has failed', async () => {
  let tried = 0;
  const refuse = async (): Promise<void> => {
    tried++;
    throw new Error('full');
  };
  await expect(writeInParts(Array(1_000).fill(0), refuse)).rejects.toThrow('full');
  expect(tried).toBe(1);
});

it('a writer writes in the next turn once a transaction is full, otherwise after its delay', async () => {
  const waiting: number[] = [];
  const reported: number[] = [];
  const behind = new WriteBehind().writer(async () => {
    reported.push(waiting.splice(0).length);
  });
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

it('a writer delays rows that arrive during a write until the write has ended', async () => {
  let end = (): void => {};
  let writes = 0;
  const behind = new WriteBehind().writer(() => {
    writes++;
    return new Promise((resolve) => {
      end = resolve;
    });
  });
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

it('all parts of a process write at the same time, at most once a second', async () => {
  vi.useFakeTimers();
  const behind = new WriteBehind();
  const writes: string[] = [];
  const [one, two] = ['one', 'two'].map((name) =>
    behind.writer(async () => {
      writes.push(`${name} ${performance.now()}`);
    }),
  );
  const startMs = performance.now();
  one?.soon();
  await vi.advanceTimersByTimeAsync(700);
  two?.soon();
  await vi.advanceTimersByTimeAsync(300);
  expect(writes).toEqual([`one ${startMs + 1_000}`, `two ${startMs + 1_000}`]);
  for (let i = 0; i < 50; i++) {
    one?.soon();
    await vi.advanceTimersByTimeAsync(100);
  }
  expect(writes.length).toBe(2 + 5);
});

it('a part that is flushed is not written again with the others', async () => {
  vi.useFakeTimers();
  let writes = 0;
  const writer = new WriteBehind().writer(async () => {
    writes++;
  });
  writer.soon();
  await writer.flush();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(writes).toBe(1);
});
