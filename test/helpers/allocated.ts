import type { HeapProfiler } from 'node:inspector';
import { Session } from 'node:inspector/promises';

/** Distance of samples in bytes: small enough that the sum of a few hundred KB is exact to some percent. */
const SAMPLED_EACH_BYTES = 64;

/** Bytes of JavaScript objects that work allocates, by sampling; collected ones count as well. */
export async function allocatedBytes(work: () => unknown): Promise<number> {
  const session = new Session();
  session.connect();
  await session.post('HeapProfiler.startSampling', {
    samplingInterval: SAMPLED_EACH_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  await work();
  const { profile } = await session.post('HeapProfiler.stopSampling');
  session.disconnect();
  return bytesIn(profile.head);
}

function bytesIn({ selfSize, children }: HeapProfiler.SamplingHeapProfileNode): number {
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize);
}
