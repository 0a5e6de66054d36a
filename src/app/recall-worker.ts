import { parentPort, workerData } from 'node:worker_threads';
import { textHash } from '../core/hash.ts';
import { Archiving } from '../core/recall/archiving.ts';
import { ResultWriter } from '../core/recall/writer.ts';
import { openSqliteStore } from '../store/sqlite.ts';
import { packText } from '../store/text-codec.ts';
import { type ArchiveAnswer, type ArchiveSettings, type ArchiveTask, receivedResults } from './recall-task.ts';

/**
 * Worker side of `RecallThread`: stores, compresses and indexes results over its own connection, one task at a time.
 * Storing new results has priority.
 */
const { keepsAll, store: options } = workerData as ArchiveSettings;
const clock = { nowMs: () => Date.now() };
const store = openSqliteStore({ ...options, clock, hashOf: textHash, onThread: true });
const writer = new ResultWriter({ store, keepsAll, pack: packText });
const archiving = new Archiving(store, clock);

let timer: NodeJS.Timeout | undefined;
let working: Promise<void> = Promise.resolve();

function answer(message: ArchiveAnswer): void {
  parentPort?.postMessage(message);
}

function stepLater(ms: number): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    working = working.then(step);
  }, ms);
}

async function step(): Promise<void> {
  try {
    const nextMs = await archiving.step();
    if (nextMs === null) answer({ kind: 'idle' });
    else stepLater(nextMs);
  } catch (cause) {
    answer({ kind: 'failed', message: String(cause) });
    stepLater(RETRY_MS);
  }
}

/** Pause after a failed step: the store may be locked, or the disk full. */
const RETRY_MS = 5_000;

async function keep(task: Extract<ArchiveTask, { kind: 'keep' }>): Promise<void> {
  try {
    const kept = receivedResults(task);
    await writer.write(kept);
    archiving.brought(kept);
    answer({ kind: 'kept', id: task.id, error: null });
  } catch (cause) {
    answer({ kind: 'kept', id: task.id, error: String(cause) });
  }
  stepLater(0);
}

parentPort?.on('message', (task: ArchiveTask) => {
  if (task.kind === 'keep') working = working.then(() => keep(task));
  else if (task.kind === 'close') {
    clearTimeout(timer);
    working = working.then(async () => {
      clearTimeout(timer);
      await store.close();
      parentPort?.close();
    });
  }
});
stepLater(0);
