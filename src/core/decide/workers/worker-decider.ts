import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FailureReporter } from '../../../base/failures.ts';
import { workerLimits } from '../../../base/worker-limits.ts';
import type { Decision } from '../../ports.ts';
import { type Job, lateDecision } from '../decision.ts';
import type { Decider } from '../decision-maker.ts';
import { patienceOf, type TimeLimit, whenPatienceEnds } from '../time-limits.ts';
import type { Answer, Task } from './task.ts';

export interface WorkerDeciderOptions {
  /** Handles smaller texts, and all texts if no worker is available. */
  readonly mainThread: Decider;
  /** Texts of at least this many UTF-16 units are large. */
  readonly largeChars?: number;
  /** Maximum total size of the smaller texts on the main thread at a time, in characters. */
  readonly maxMainThreadChars?: number;
  /** The worker script. */
  readonly program?: URL;
  /** Called when a worker crashes; its text is then handled on the main thread. */
  readonly onFailure: FailureReporter;
}

/** About 25 ms of work. Below that, the overhead of a worker exceeds its benefit. */
const LARGE_CHARS = 256 * 1024;
/**
 * Smaller texts are decided on the main thread in time slices. A worker is only worth starting if there are many at
 * once.
 */
const MAX_MAIN_THREAD_CHARS = 1024 * 1024;
const PROGRAM = new URL('./decide-worker.js', import.meta.url);
/** How long a worker may stay silent past a caller's deadline before it is terminated. */
const GRACE_MS = 250;
/** Number of crashes after which no new worker is started. */
const MAX_FAULTS = 3;
const MAX_THREADS = 4;
/** Heap limit of a worker, as a share of the main thread's limit. */
const HEAP_SHARE = 1 / 2;

interface Waiting {
  readonly job: Job;
  readonly key: string;
  readonly limit: TimeLimit;
  readonly opinions: Float64Array | null;
  readonly settle: (decision: Decision | Promise<Decision>) => void;
}

/**
 * Decides about large texts, and about many at once, on worker threads, so that streams keep flowing and time limits
 * are enforced. Workers start on demand, and never keep the process alive.
 */
export class WorkerDecider implements Decider {
  readonly #options: WorkerDeciderOptions;
  readonly #program: string | null;
  readonly #waiting: Waiting[] = [];
  readonly #idle: Worker[] = [];
  readonly #all = new Set<Worker>();
  /** Total characters of the texts being decided on this thread. */
  #mainThreadChars = 0;
  #faults = 0;
  #closed = false;

  constructor(options: WorkerDeciderOptions) {
    this.#options = options;
    const file = fileURLToPath(options.program ?? PROGRAM);
    this.#program = existsSync(file) ? file : null; // the compiled worker does not exist when running from the sources
  }

  decide(job: Job, key: string, limit: TimeLimit, opinions: Float64Array | null): Decision | Promise<Decision> {
    const { mainThread, largeChars = LARGE_CHARS, maxMainThreadChars = MAX_MAIN_THREAD_CHARS } = this.#options;
    const chars = job.text.length;
    const small = chars < largeChars && this.#mainThreadChars + chars < maxMainThreadChars;
    if (small || job.keepWhole !== undefined || job.cutWhole || !this.#canStart()) {
      const decided = mainThread.decide(job, key, limit, opinions);
      if (!(decided instanceof Promise)) return decided;
      this.#mainThreadChars += chars;
      return decided.finally(() => {
        this.#mainThreadChars -= chars;
      });
    }
    return new Promise((settle) => {
      this.#waiting.push({ job, key, limit, opinions, settle });
      this.#next();
    });
  }

  /** Terminates all workers; waiting texts are handled on the main thread. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const waiting of this.#waiting.splice(0)) this.#decideOnMainThread(waiting);
    await Promise.all([...this.#all].map((worker) => worker.terminate()));
  }

  #canStart(): boolean {
    return this.#program !== null && !this.#closed && this.#faults < MAX_FAULTS;
  }

  #next(): void {
    while (this.#waiting.length > 0) {
      const worker = this.#idle.pop() ?? this.#start();
      if (!worker) break;
      const task = this.#waiting.shift();
      if (task) this.#give(worker, task);
    }
    if (this.#all.size === 0) for (const waiting of this.#waiting.splice(0)) this.#decideOnMainThread(waiting);
  }

  #start(): Worker | null {
    if (this.#program === null || !this.#canStart() || this.#all.size >= threads()) return null;
    const worker = new Worker(this.#program, { resourceLimits: workerLimits(HEAP_SHARE) });
    worker.unref();
    worker.on('error', () => {}); // an `exit` event follows
    worker.on('exit', () => this.#forget(worker));
    this.#all.add(worker);
    return worker;
  }

  #give(worker: Worker, waiting: Waiting): void {
    const { job, key, limit, opinions, settle } = waiting;
    const { cpuMs, deadline } = limit;
    const timeoutMs = (deadline ?? Number.POSITIVE_INFINITY) - performance.now();
    if (timeoutMs <= 0) {
      this.#idle.push(worker);
      settle(lateDecision(job, key));
      return;
    }
    const onMessage = ({ decision }: Answer): void => {
      finish();
      this.#idle.push(worker);
      if (decision) settle(decision);
      else this.#decideOnMainThread(waiting);
      this.#next();
    };
    const onEnd = (cause?: unknown): void => {
      finish();
      this.#drop(worker);
      this.#faults++;
      if (!this.#closed) this.#options.onFailure('worker_ended', cause);
      this.#decideOnMainThread(waiting);
      this.#next();
    };
    const patience = cpuMs === undefined ? { intervalMs: timeoutMs + GRACE_MS, intervals: 1 } : patienceOf(cpuMs);
    const endWait = whenPatienceEnds(patience, () => {
      finish();
      this.#drop(worker);
      settle(lateDecision(job, key));
      this.#next();
    });
    const finish = (): void => {
      endWait();
      worker.off('message', onMessage).off('error', onEnd).off('exit', onEnd);
    };
    worker.on('message', onMessage).on('error', onEnd).on('exit', onEnd);
    worker.postMessage({ job, key, cpuMs, timeoutMs, opinions } satisfies Task);
  }

  #drop(worker: Worker): void {
    this.#forget(worker);
    worker.terminate().catch(() => {}); // it may have exited already
  }

  #forget(worker: Worker): void {
    this.#all.delete(worker);
    const at = this.#idle.indexOf(worker);
    if (at >= 0) this.#idle.splice(at, 1);
  }

  #decideOnMainThread({ job, key, limit, opinions, settle }: Waiting): void {
    settle(this.#options.mainThread.decide(job, key, limit, opinions));
  }
}

/** Leaves one core to the event loop. */
function threads(): number {
  return Math.min(MAX_THREADS, Math.max(1, availableParallelism() - 1));
}
