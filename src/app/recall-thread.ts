import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { FailureReporter } from '../base/failures.ts';
import { workerLimits } from '../base/worker-limits.ts';
import type { RecallStore } from '../core/ports/recall.ts';
import { type Archiving, PAUSE_MS } from '../core/recall/archiving.ts';
import type { KeptResults, ResultSink } from '../core/recall/writer.ts';
import { type ArchiveAnswer, type ArchiveSettings, type ArchiveTask, keepTask } from './recall-task.ts';

/** Stores results, and compresses and indexes stored texts. */
export interface RecallSink extends ResultSink {
  /** Indexes results left by earlier processes, in the pauses between requests; returns whether to call again soon. */
  catchUp(): Promise<boolean>;
  /** Resolves once all submitted results are stored. */
  close(): Promise<void>;
}

/** Runs on the main thread: for database servers, and for programs without the worker bundle. */
export class MainThreadRecall implements RecallSink {
  readonly #writer: ResultSink;
  readonly #archiving: Archiving;

  constructor(writer: ResultSink, archiving: Archiving) {
    this.#writer = writer;
    this.#archiving = archiving;
  }

  async write(kept: KeptResults): Promise<void> {
    await this.#writer.write(kept);
    this.#archiving.brought(kept);
  }

  /** Leftovers of active conversations are indexed in a later pause. */
  async catchUp(): Promise<boolean> {
    return (await this.#archiving.step()) === PAUSE_MS;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

export interface RecallThreadOptions {
  readonly settings: ArchiveSettings;
  /** Used if no thread can be started. */
  readonly fallback: RecallSink;
  /** Tells whether results wait to be indexed. */
  readonly recall: Pick<RecallStore, 'isBehind'>;
  /** The worker script. */
  readonly program?: URL;
  readonly onFailure: FailureReporter;
}

const PROGRAM = new URL('./recall-worker.js', import.meta.url);
/** Number of crashes after which no new thread is started. */
const MAX_FAULTS = 3;
/** Idle time after which the thread ends, in milliseconds; it takes 20 MB. */
const IDLE_MS = 30_000;
/** Heap limit, as a share of the main thread's limit. */
const HEAP_SHARE = 1 / 4;

/**
 * Stores, compresses and indexes results on a thread with its own connection to the store's file. The thread starts
 * with the first result, ends when idle, and never keeps the process alive.
 */
export class RecallThread implements RecallSink {
  readonly #options: RecallThreadOptions;
  readonly #program: string | null;
  readonly #waiting = new Map<number, { readonly resolve: () => void; readonly reject: (cause: unknown) => void }>();
  #worker: Worker | null = null;
  #nextId = 0;
  #faults = 0;
  #closed = false;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: RecallThreadOptions) {
    this.#options = options;
    const file = fileURLToPath(options.program ?? PROGRAM);
    this.#program = existsSync(file) ? file : null; // the compiled worker does not exist when running from the sources
  }

  async catchUp(): Promise<boolean> {
    if (this.#worker !== null) return false;
    if (!this.#canStart()) return this.#options.fallback.catchUp();
    if (await this.#options.recall.isBehind()) this.#opened();
    return false;
  }

  write(kept: KeptResults): Promise<void> {
    const worker = this.#opened();
    if (worker === null) return this.#options.fallback.write(kept);
    clearTimeout(this.#idle);
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      const task = keepTask(id, kept);
      worker.postMessage(task, [task.texts]);
    });
  }

  /** Ends the thread once all submitted results are stored. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  #canStart(): boolean {
    return this.#program !== null && this.#faults < MAX_FAULTS && !this.#closed;
  }

  #opened(): Worker | null {
    if (this.#worker !== null || this.#program === null || !this.#canStart()) return this.#worker;
    const worker = new Worker(this.#program, {
      workerData: this.#options.settings,
      resourceLimits: workerLimits(HEAP_SHARE),
    });
    worker.unref();
    worker.on('message', (answer: ArchiveAnswer) => this.#received(answer));
    worker.on('error', (cause) => this.#ended(worker, cause));
    worker.on('exit', () => this.#ended(worker, null));
    this.#worker = worker;
    return worker;
  }

  #received(answer: ArchiveAnswer): void {
    if (answer.kind === 'failed') this.#options.onFailure('not_indexed', new Error(answer.message));
    else if (answer.kind === 'idle') this.#endLater();
    else {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (answer.error === null) waiting?.resolve();
      else waiting?.reject(new Error(answer.error));
    }
  }

  #endLater(): void {
    if (this.#waiting.size > 0) return;
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
  }

  /** The thread closes its connection before it ends. A new thread opens its own. */
  async #end(): Promise<void> {
    const worker = this.#worker;
    clearTimeout(this.#idle);
    if (worker === null) return;
    this.#worker = null;
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
    });
    worker.ref();
    worker.postMessage({ kind: 'close' } satisfies ArchiveTask);
    await ended;
  }

  #ended(worker: Worker, cause: unknown): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#faults++;
    this.#options.onFailure('recall_thread_ended', cause);
    for (const { reject } of this.#waiting.values()) reject(cause ?? new Error('the recall thread ended'));
    this.#waiting.clear();
  }
}
