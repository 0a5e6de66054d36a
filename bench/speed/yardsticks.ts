import { gzipSync } from 'node:zlib';
import { median } from './load.ts';

/** What well-known work costs on this machine, in milliseconds of CPU for a megabyte. */
export interface Yardsticks {
  readonly parseMs: number;
  readonly gzipMs: number;
}

const TIMES = 9;

/** Measures them on a conversation's last body, which holds all that it brought. */
export function costPerMb(bodies: readonly Buffer[]): Yardsticks {
  const body = bodies.at(-1) ?? Buffer.alloc(0);
  const text = body.toString();
  const mb = body.length / 1e6;
  return {
    parseMs: cpuOf(() => JSON.parse(text)) / mb,
    gzipMs: cpuOf(() => gzipSync(body, { level: 1 })) / mb,
  };
}

/** Median milliseconds of CPU, in this process. */
export function cpuOf(work: () => unknown): number {
  return median(
    Array.from({ length: TIMES }, () => {
      const began = process.cpuUsage();
      work();
      const { user, system } = process.cpuUsage(began);
      return (user + system) / 1_000;
    }),
  );
}
