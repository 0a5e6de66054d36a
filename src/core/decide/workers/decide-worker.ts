import { parentPort } from 'node:worker_threads';
import { decide } from '../decision.ts';
import type { Answer, Task } from './task.ts';

/** The other thread of `WorkerDecider`: one task, one answer. */
parentPort?.on('message', ({ job, key, timeoutMs, opinions }: Task) => {
  const deadline = performance.now() + timeoutMs;
  parentPort?.postMessage(answerTo(() => decide(job, key, () => performance.now() > deadline, opinions)));
});

function answerTo(work: () => Answer['decision']): Answer {
  try {
    return { decision: work() };
  } catch {
    return { decision: null }; // the main thread decides again and can report a fault
  }
}
