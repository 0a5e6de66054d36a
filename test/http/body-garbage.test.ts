import { getHeapSpaceStatistics } from 'node:v8';
import { expect, it } from 'vitest';
import { BodyGarbage } from '../../src/proxy/body-garbage.ts';

const MB = 1024 * 1024;

function bodies(count: number): number {
  let bytes = 0;
  for (let i = 0; i < count; i++) bytes += Buffer.alloc(MB, i).length;
  return bytes;
}

it('what bodies leave behind is let go of once there is enough of it', async () => {
  const garbage = new BodyGarbage();
  const before = process.memoryUsage().arrayBuffers;
  const bytes = bodies(24);
  const full = process.memoryUsage().arrayBuffers - before;
  expect(full).toBeGreaterThan(20 * MB);
  garbage.add(1_000);
  expect(process.memoryUsage().arrayBuffers - before).toBeGreaterThan(full / 2);
  garbage.add(bytes);
  await expect.poll(() => process.memoryUsage().arrayBuffers - before).toBeLessThan(full / 2);
});

it('the space for new objects stays small, however much of what is new lives for a while', () => {
  const garbage = new BodyGarbage();
  const living: object[][] = [];
  for (let round = 0; round < 200; round++) {
    garbage.expect();
    living[round % 8] = Array.from({ length: 8_000 }, (_, id) => ({ id, name: `${round}-${id}` }));
    garbage.add(MB);
  }
  const space = getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space');
  expect(living.length).toBe(8);
  expect(space?.space_size).toBeLessThanOrEqual(10 * MB);
});
