import { Worker } from 'node:worker_threads';
import { driverFile } from './driver.ts';

/**
 * The worker's program, as a string so that no built file has to be found. Its last step truncates the log and blocks
 * writers meanwhile, so it runs only when hardly anything was written during the copying.
 */
const PROGRAM = `
  const { parentPort, workerData } = require('node:worker_threads');
  const Database = require(workerData.driver);
  const checkpoint = () => {
    const db = new Database(workerData.path, { timeout: 0, fileMustExist: true });
    try {
      let before = 0;
      for (let round = 0; round < 4; round++) {
        const [{ busy, log, checkpointed }] = db.pragma('wal_checkpoint(PASSIVE)');
        if (busy !== 0 || log <= 0 || checkpointed < log) return;
        if (log - before < 200) return void db.pragma('wal_checkpoint(TRUNCATE)');
        before = log;
      }
    } finally {
      db.close();
    }
  };
  parentPort.on('message', (close) => {
    if (close) return parentPort.close();
    try {
      checkpoint();
    } catch {
      // locked, gone or broken: the next commit reports it
    }
    parentPort.postMessage('done');
  });
`;

/**
 * Copies the write-ahead log into the file on its own thread. The copy ends in fsyncs, which take milliseconds on a
 * good disk and far longer on a bad one, and they must not block the event loop.
 */
export class Checkpointer {
  readonly #path: string;
  #worker: Worker | null = null;
  #running: Promise<void> | null = null;
  #closed = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Starts a checkpoint unless one is running. */
  kick(): void {
    if (this.#running === null) void this.run();
  }

  /** Resolves after a checkpoint of everything committed before the call, successful or not. */
  async run(): Promise<void> {
    while (this.#running !== null) await this.#running;
    this.#running = this.#run().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#running;
    const worker = this.#worker;
    if (!worker) return;
    worker.ref(); // keep the process alive while the caller waits
    await new Promise<void>((done) => {
      worker.once('exit', () => done());
      worker.postMessage(true);
    });
  }

  async #run(): Promise<void> {
    const worker = this.#worker ?? this.#start();
    if (!worker) return;
    worker.ref();
    await new Promise<void>((done) => {
      const finish = () => {
        worker.off('message', finish).off('exit', finish);
        done();
      };
      worker.once('message', finish).once('exit', finish);
      worker.postMessage(false);
    });
    worker.unref();
  }

  /** A worker that cannot start is no failure: beyond some log size SQLite copies it by itself. */
  #start(): Worker | null {
    if (this.#closed) return null;
    try {
      const driver = driverFile();
      const worker = new Worker(PROGRAM, { eval: true, workerData: { driver, path: this.#path } });
      worker.unref();
      worker.on('error', () => undefined); // 'exit' follows
      worker.on('exit', () => {
        this.#worker = null;
      });
      this.#worker = worker;
      return worker;
    } catch {
      return null;
    }
  }
}
