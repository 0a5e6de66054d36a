import { randomBytes, randomFillSync, randomUUID } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** Makes the ids of requests: ulids that ascend within the process. */
export function requestIds(): () => string {
  const next = monotonicFactory(pooledRandom());
  return () => next();
}

/** Random numbers in [0, 1) from a pool of bytes: `ulid` would ask the system sixteen times for each id. */
function pooledRandom(): () => number {
  const pool = new Uint8Array(4096);
  let next = pool.length;
  return () => {
    if (next === pool.length) {
      randomFillSync(pool);
      next = 0;
    }
    return (pool[next++] ?? 0) / 256;
  };
}

export interface Ids {
  /** An id that nothing else has. */
  readonly uuid: () => string;
  /** 128 random bits in hex, for what nobody may guess. */
  readonly secret: () => string;
}

export const ids: Ids = { uuid: () => randomUUID(), secret: () => randomBytes(16).toString('hex') };
