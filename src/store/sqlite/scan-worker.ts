import { parentPort, workerData } from 'node:worker_threads';
import { openSqliteStore } from '../sqlite.ts';
import type { ScanAnswer, ScanSettings, ScanTask } from './scan-thread.ts';

/** Worker side of `ScanThread`: one search at a time. Filters are stored until the next search arrives. */
const clock = { nowMs: () => performance.timeOrigin + performance.now() };
const store = openSqliteStore({ ...(workerData as ScanSettings), clock, ttlMs: 1, maxBytes: 0, maxEvents: 0 });
let working: Promise<void> = Promise.resolve();
let waiting = 0;

async function scan({ id, query }: Exclude<ScanTask, 'close'>): Promise<void> {
  const found = await store.recall.scan(query).catch(() => null); // the main thread searches, and reports its failure
  parentPort?.postMessage({ id, found } satisfies ScanAnswer);
  if (found !== null) await store.recall.saveFilters(found, () => waiting === 0);
}

parentPort?.on('message', (task: ScanTask) => {
  waiting++;
  working = working.then(async () => {
    waiting--;
    if (task !== 'close') return scan(task);
    await store.close();
    parentPort?.close();
  });
});
