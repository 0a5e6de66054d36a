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
