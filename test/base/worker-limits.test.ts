import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { workerLimits } from '../../src/base/worker-limits.ts';

const MB = 1024 * 1024;

describe('the heap of a thread', () => {
  it('is a share of the heap that the process may have, and large enough to work', () => {
    expect(workerLimits(1 / 4, 4096 * MB)).toEqual({ maxOldGenerationSizeMb: 1024, maxYoungGenerationSizeMb: 4 });
    expect(workerLimits(1 / 2, 256 * MB)).toEqual({ maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 });
    expect(workerLimits(1 / 4, 128 * MB)).toEqual({ maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 });
  });

  it('ends a thread that exceeds it, but not the process', async () => {
    const program = 'const kept = []; for (;;) kept.push(new Array(10_000).fill({}));';
    const worker = new Worker(program, { eval: true, resourceLimits: workerLimits(1 / 4, 256 * MB) });
    const [cause] = (await once(worker, 'error')) as [NodeJS.ErrnoException];
    expect(cause.code).toBe('ERR_WORKER_OUT_OF_MEMORY');
  });
});
