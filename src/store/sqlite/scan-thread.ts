import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { workerLimits } from '../../base/worker-limits.ts';
import type { RecallQuery } from '../../core/ports/recall.ts';
import type { ScanResult } from '../recall/find.ts';

/** Start parameters of the thread. */
export interface ScanSettings {
  readonly path: string;
}

/** A search, or the order to close the file and end. */
export type ScanTask = { readonly id: number; readonly query: RecallQuery } | 'close';

/** `found` is `null` if the search failed. */
export interface ScanAnswer {
  readonly id: number;
  readonly found: ScanResult | null;
}

const PROGRAM = new URL('./scan-worker.js', import.meta.url);
/** Number of crashes after which no new thread is started. */
const MAX_FAULTS = 3;
/** Idle time after which the thread ends, in milliseconds; it takes 20 MB. */
const IDLE_MS = 30_000;
/** Heap limit, as a share of the main thread's limit. */
const HEAP_SHARE = 1 / 4;

/**
 * Searches texts on a thread with its own connection to the store's file. The thread starts with the first long search,
 * ends when idle, and never keeps the process alive.
 */
export class ScanThread {
  readonly #settings: ScanSettings;
  readonly #program: string | null;
  readonly #waiting = new Map<number, (found: ScanResult | null) => void>();
  #worker: Worker | null = null;
  #nextId = 0;
  #faults = 0;
  #closed = false;
  #idle: NodeJS.Timeout | undefined;

  /** @param program - the worker script */
  constructor(settings: ScanSettings, program: URL = PROGRAM) {
    this.#settings = settings;
    const file = fileURLToPath(program);
    this.#program = existsSync(file) ? file : null; // the compiled worker does not exist when running from the sources
  }

  get isRunning(): boolean {
    return this.#worker !== null;
  }

  /** Whether a search can be given to the thread. */
  get isAvailable(): boolean {
    return this.#program !== null && this.#faults < MAX_FAULTS && !this.#closed;
  }

  /** @returns `null` if the search failed on the thread, or the thread cannot start */
  scan(query: RecallQuery): Promise<ScanResult | null> {
    const worker = this.#worker ?? this.#start();
    if (worker === null) return Promise.resolve(null);
    clearTimeout(this.#idle);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      worker.postMessage({ id, query } satisfies ScanTask);
    });
  }

  /** Ends the thread, after its current search. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#end();
  }

  #start(): Worker | null {
    if (this.#program === null || !this.isAvailable) return null;
    const worker = new Worker(this.#program, {
      workerData: this.#settings,
      resourceLimits: workerLimits(HEAP_SHARE),
    });
    worker.unref();
    worker.on('message', ({ id, found }: ScanAnswer) => {
      this.#waiting.get(id)?.(found);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#idle = setTimeout(() => void this.#end(), IDLE_MS).unref();
    });
    worker.on('error', () => undefined); // an 'exit' event follows
    worker.on('exit', () => this.#ended(worker));
    this.#worker = worker;
    return worker;
  }

  async #end(): Promise<void> {
    const worker = this.#worker;
    clearTimeout(this.#idle);
    if (worker === null) return;
    this.#worker = null;
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => resolve());
    });
    worker.ref();
    worker.postMessage('close' satisfies ScanTask);
    await ended;
    this.#settleAll();
  }

  #ended(worker: Worker): void {
    if (this.#worker !== worker) return;
    this.#worker = null;
    this.#faults++;
    this.#settleAll();
  }

  #settleAll(): void {
    for (const settle of this.#waiting.values()) settle(null);
    this.#waiting.clear();
  }
}
