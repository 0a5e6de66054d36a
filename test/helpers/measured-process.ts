import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { afterwards, tempFolder } from './afterwards.ts';
import { compiled } from './built.ts';

const PRELOAD = fileURLToPath(new URL('measured-preload.mjs', import.meta.url));

/** What the preloaded script measures. */
type Measure = 'write' | 'start' | 'allocated' | 'heap' | 'countStart' | 'counted' | 'promiseStart' | 'promises';

/** Calls of functions, distinct functions called, and source files of ours that contain them. */
export interface Counts {
  readonly calls: number;
  readonly functions: number;
  readonly files: number;
}

/** The built server as a process of its own that reports what its main thread allocates. */
export class MeasuredProcess {
  /** The file of its store. */
  readonly dbPath: string;
  readonly #child: ChildProcess;
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true });
  /** Functions that V8 has optimised since the start, if the process traces them. */
  optimised = 0;

  constructor(child: ChildProcess, url: string, dbPath: string) {
    this.dbPath = dbPath;
    this.#child = child;
    this.#url = `${url}/v1/chat/completions`;
    afterwards(() => this.#agent.destroy());
  }

  /** Sends a body and reads the answer. */
  send(body: Buffer, more: Record<string, string> = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': body.length, ...more };
      const sent = request(this.#url, { method: 'POST', agent: this.#agent, headers }, (answer) => {
        answer.resume().once('end', resolve);
      });
      sent.once('error', reject).end(body);
    });
  }

  /** Makes the server write now what it would write within a second. */
  async write(): Promise<void> {
    await this.#ask('write');
  }

  /** Bytes of JavaScript objects that the server allocates during work; collected ones count as well. */
  async allocated(work: () => Promise<void>): Promise<number> {
    await this.#ask('start');
    await work();
    return this.#ask('allocated');
  }

  /** Promises that the main thread makes during work. */
  async promises(work: () => Promise<void>): Promise<number> {
    await this.#ask('promiseStart');
    await work();
    return this.#ask('promises');
  }

  /** Calls on the main thread during work. */
  async counted(work: () => Promise<void>): Promise<Counts> {
    await this.#ask('countStart');
    await work();
    return this.#ask('counted');
  }

  /** Bytes of live JavaScript objects. */
  heap(): Promise<number> {
    return this.#ask('heap');
  }

  async #ask<Answer = number>(name: Measure): Promise<Answer> {
    const answered = once(this.#child, 'message');
    this.#child.send(name);
    const [value] = (await answered) as [Answer];
    return value;
  }
}

/**
 * Starts the built server in front of an upstream, and waits until it listens. It is killed with the test.
 *
 * @param flags - of Node; `--trace-opt` counts optimised functions
 */
export async function startMeasuredProcess(
  upstreamUrl: string,
  flags: readonly string[] = [],
): Promise<MeasuredProcess> {
  const folder = tempFolder();
  const dbPath = `${folder}/store.db`;
  const child = spawn(process.execPath, [...flags, '--import', PRELOAD, compiled('cli.js'), 'serve', '--port', '0'], {
    env: { HOME: folder, MCP_PRUNER_UPSTREAM_URL: upstreamUrl, MCP_PRUNER_DB_PATH: dbPath },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  afterwards(() => child.kill('SIGKILL'));
  const output: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer): void => {
      output.push(chunk.toString());
      const found = /"url":"(http:[^"]+)"/.exec(output.join(''))?.[1];
      if (found) resolve(found);
      if (output.length > 100) output.length = 0; // nobody reads the log of a server that runs
    };
    child.stdout?.on('data', read);
    child.stderr?.on('data', read);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output.join('')}`)));
  });
  const measured = new MeasuredProcess(child, url, dbPath);
  let rest = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString('latin1')).split('[completed optimizing');
    measured.optimised += parts.length - 1;
    rest = parts.at(-1)?.slice(-40) ?? '';
  });
  return measured;
}
