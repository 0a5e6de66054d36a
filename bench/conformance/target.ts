import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { CLOCK_PRELOAD } from './clock.ts';
import type { Database } from './database.ts';
import { type ProxyRun, startHere, startProcess } from './proxy-run.ts';

/** Of a database that is slow because the machine is busy: what a run shows must not depend on that. */
const WAIT_MS = '240000';

/** The proxy behind which the upstreams are. */
export interface Target {
  /** Base URL without `/v1`. */
  readonly url: string;
  /** `null`: the proxy is somebody else's, and only its base URL is known. */
  readonly control: Control | null;
  /** What each request needs besides. */
  readonly headers: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/** Ends a fault. */
export type Mend = () => Promise<void>;

/** What can be done to this product. */
export interface Control {
  /** @param mustBeProcess - what follows needs a process of its own: it is killed, or its disk is full */
  start(settings: Readonly<Record<string, string>>, mustBeProcess: boolean): Promise<void>;
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Deletes everything that was stored; no process runs. */
  loseStore(): Promise<void>;
  /** Locks the store for the proxy. */
  lock(): Promise<Mend>;
  /** Whatever is written to a file fails. */
  fillDisk(): Promise<Mend>;
  /** Moves the clock to so many milliseconds after its real time, at once and for later processes. */
  moveClock(offsetMs: number): void;
  /** Later requests go to the next process, if several run on one database. */
  nextReplica(): void;
  /** Later processes run the other build, if there is one. */
  changeBuild(): void;
  /** Runs a command of the program on the same store. */
  command(args: readonly string[]): Promise<void>;
}

/** A proxy that somebody else runs. */
export class ForeignTarget implements Target {
  readonly control = null;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(url: string, headers: Readonly<Record<string, string>> = {}) {
    this.headers = headers;
    this.url = url.replace(/\/(?:v1\/?)?$/, '');
  }

  async close(): Promise<void> {}
}

export interface OwnOptions {
  /** Paths of `cli.js` of one or several builds. */
  readonly programs: readonly [string, ...string[]];
  /** Origin of the upstreams. */
  readonly upstream: string;
  /** An empty PostgreSQL database, on which two replicas run; `null`: SQLite, and one process. */
  readonly database: Database | null;
  /** Every run is a process of its own, which takes about twice the CPU time. */
  readonly onlyProcesses?: boolean;
}

/** This product, in this process from its sources, or in processes of its own. */
export class OwnTarget implements Target, Control {
  readonly control = this;
  readonly headers = {};
  readonly #options: OwnOptions;
  readonly #programs: OwnOptions['programs'];
  readonly #folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  readonly #clock = join(this.#folder, 'clock');
  #replicas: readonly ProxyRun[] = [];
  #current = 0;
  #build = 0;
  #offsetMs = 0;
  #settings: Readonly<Record<string, string>> = {};

  constructor(options: OwnOptions) {
    this.#options = options;
    const [first, ...others] = options.programs;
    const cold = (program: string, i: number): string => coldStart(program, join(this.#folder, `cold-${i}.mjs`));
    this.#programs = [cold(first, 0), ...others.map((program, i) => cold(program, i + 1))];
    writeFileSync(join(this.#folder, 'clock.cjs'), CLOCK_PRELOAD);
    writeFileSync(this.#clock, '0');
  }

  get url(): string {
    return this.#replicas[this.#current % this.#replicas.length]?.url ?? 'http://127.0.0.1:9';
  }

  async start(settings: Readonly<Record<string, string>>, mustBeProcess: boolean): Promise<void> {
    this.#settings = settings;
    const { database, programs, onlyProcesses } = this.#options;
    const isProcess = mustBeProcess || onlyProcesses === true || programs.length > 1;
    const clock = { nowMs: () => Date.now() + this.#offsetMs };
    const started: ProxyRun[] = [];
    for (let i = 0; i < (database === null ? 1 : 2); i++) {
      const run = isProcess ? startProcess(this.#program, this.#environment) : startHere(this.#environment, clock);
      started.push(await run);
    }
    this.#replicas = started;
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const running = this.#replicas;
    this.#replicas = [];
    await Promise.all(running.map((run) => run.stop(signal)));
  }

  async loseStore(): Promise<void> {
    if (this.#options.database !== null) return this.#options.database.empty();
    for (const end of ['', '-wal', '-shm']) rmSync(`${this.#store}${end}`, { force: true });
  }

  async lock(): Promise<Mend> {
    if (this.#options.database !== null) return this.#options.database.lock();
    const database = new (sqliteDriver())(this.#store);
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch {
      // a writer was faster: nothing is locked this time
    }
    return async () => void database.close();
  }

  async fillDisk(): Promise<Mend> {
    // the limit of the process on the size of files; databases of servers are not ours
    const isPossible = this.#options.database === null && existsSync('/usr/bin/prlimit');
    const pids = isPossible ? this.#replicas.flatMap(({ pid }) => pid ?? []) : [];
    const limit = (bytes: string) => {
      for (const pid of pids) spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
    };
    limit('4096');
    return async () => limit('unlimited');
  }

  moveClock(offsetMs: number): void {
    this.#offsetMs = offsetMs;
    writeFileSync(this.#clock, String(offsetMs));
  }

  nextReplica(): void {
    this.#current++;
  }

  changeBuild(): void {
    this.#build++;
  }

  async command(args: readonly string[]): Promise<void> {
    const child = spawn(process.execPath, [this.#program, ...args], { env: this.#environment, stdio: 'ignore' });
    await once(child, 'exit');
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #store(): string {
    return join(this.#folder, 'store.db');
  }

  get #program(): string {
    const programs = this.#programs;
    return programs[this.#build % programs.length] ?? programs[0];
  }

  get #environment(): Record<string, string> {
    const { upstream, database } = this.#options;
    return {
      PATH: process.env.PATH ?? '',
      HOME: this.#folder,
      NODE_OPTIONS: `--require ${join(this.#folder, 'clock.cjs')}`,
      CONFORMANCE_CLOCK: this.#clock,
      MCP_PRUNER_UPSTREAM_URL: `${upstream}/v1`,
      MCP_PRUNER_ANTHROPIC_URL: `${upstream}/v1`,
      MCP_PRUNER_GEMINI_URL: upstream,
      MCP_PRUNER_DB_PATH: this.#store,
      MCP_PRUNER_MIN_PRUNE_CHARS: '1500',
      MCP_PRUNER_MIN_KEEP_LINES: '5',
      ...(database !== null && { MCP_PRUNER_DATABASE_URL: database.url, MCP_PRUNER_DATABASE_WAIT_MS: WAIT_MS }),
      ...this.#settings,
    };
  }
}

/**
 * Writes a start of the program without the warm-up of its servers, which is half of the CPU time of a start.
 *
 * @returns its path, or that of the program if its build is not known to have such a start
 */
function coldStart(program: string, path: string): string {
  const [, parts] = /import\("(\.\/parts\/program-[^"]+)"\)/.exec(readFileSync(program, 'utf8')) ?? [];
  if (parts === undefined) return program;
  const urlOf = (file: string): string => JSON.stringify(pathToFileURL(resolve(dirname(program), file)).href);
  const start = `await runProgram(new URL(${urlOf('../package.json')}), { warmsUp: false });`;
  writeFileSync(path, `import { runProgram } from ${urlOf(parts)};\n${start}\n`);
  return path;
}
