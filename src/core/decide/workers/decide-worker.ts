import { parentPort } from 'node:worker_threads';
import { decide } from '../decision.ts';
import { limitReached } from '../time-limits.ts';
import { warmUp } from '../warm-up.ts';
import type { Answer, Task } from './task.ts';

/** Compiles the code of other kinds between tasks, once the first text is decided. */
const samples = warmUp();

function warmUpLater(): void {
  setImmediate(() => {
    if (samples.next().done !== true) warmUpLater();
  });
}

let isWarm = false;

/** Worker side of `WorkerDecider`: one answer per task. */
parentPort?.on('message', ({ job, key, cpuMs, timeoutMs, opinions }: Task) => {
  const limit = cpuMs === undefined ? { deadline: performance.now() + timeoutMs } : { cpuMs };
  parentPort?.postMessage(answerTo(() => decide(job, key, limitReached(limit), opinions)));
  if (!isWarm) warmUpLater();
  isWarm = true;
});

function answerTo(work: () => Answer['decision']): Answer {
  try {
    return { decision: work() };
  } catch {
    return { decision: null }; // the main thread decides again and can report a fault
  }
}
