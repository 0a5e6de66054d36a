import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The proxy behind which the upstreams are. */
export interface Target {
  /** Base URL without `/v1`. */
  readonly url: string;
  /** Settings, restarts and recovery are available. */
  readonly isOurs: boolean;
  start(settings: Readonly<Record<string, string>>): Promise<void>;
  stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>;
  /** Deletes everything that the proxy stored; it does not run. */
  loseStore(): Promise<void>;
  /** Locks the store for others until the returned function is called. */
  lock(): Promise<() => void>;
  close(): Promise<void>;
}

/** A proxy that somebody else runs. */
export class ForeignTarget implements Target {
  readonly isOurs = false;
  readonly url: string;

  constructor(url: string) {
    this.url = url.replace(/\/(?:v1\/?)?$/, '');
  }

  async start(): Promise<void> {}
  async stop(): Promise<void> {}
  async loseStore(): Promise<void> {}
  async lock(): Promise<() => void> {
    return () => {};
  }
  async close(): Promise<void> {}
}

export interface OwnOptions {
  /** Path of a build's `cli.js`. */
  readonly program: string;
  /** Origin of the upstreams. */
  readonly upstream: string;
  /** URL of an empty PostgreSQL database; `null`: SQLite. */
  readonly databaseUrl: string | null;
  /** Empties the database. */
  readonly emptyDatabase?: (url: string) => Promise<void>;
}

/** This product as a process of its own. */
export class OwnTarget implements Target {
  readonly isOurs = true;
  readonly #options: OwnOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  #child: ChildProcess | null = null;
  #port = 0;

  constructor(options: OwnOptions) {
    this.#options = options;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(settings: Readonly<Record<string, string>>): Promise<void> {
    const { program, upstream, databaseUrl } = this.#options;
    const child = spawn(process.execPath, [program, 'serve', '--port', '0'], {
      env: {
        PATH: process.env.PATH ?? '',
        HOME: this.#folder,
        MCP_PRUNER_UPSTREAM_URL: `${upstream}/v1`,
        MCP_PRUNER_ANTHROPIC_URL: `${upstream}/v1`,
        MCP_PRUNER_DB_PATH: join(this.#folder, 'store.db'),
        MCP_PRUNER_MIN_PRUNE_CHARS: '1500',
        MCP_PRUNER_MIN_OUTPUT_CHARS: '800',
        MCP_PRUNER_MIN_KEEP_LINES: '5',
        ...(databaseUrl !== null && { MCP_PRUNER_DATABASE_URL: databaseUrl }),
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#port = await portOf(child);
  }

  async stop(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    child.kill(signal);
    await once(child, 'exit');
  }

  async loseStore(): Promise<void> {
    const { databaseUrl, emptyDatabase } = this.#options;
    if (databaseUrl !== null) return emptyDatabase?.(databaseUrl);
    for (const end of ['', '-wal', '-shm']) rmSync(join(this.#folder, `store.db${end}`), { force: true });
  }

  async lock(): Promise<() => void> {
    if (this.#options.databaseUrl !== null) return () => {};
    const { default: Database } = await import('better-sqlite3');
    const database = new Database(join(this.#folder, 'store.db'));
    try {
      database.exec('BEGIN IMMEDIATE');
    } catch {
      // a writer was faster: nothing is locked this time
    }
    return () => void database.close();
  }

  async close(): Promise<void> {
    await this.stop('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Waits until the server says on which port it listens. */
function portOf(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = '';
    const onData = (chunk: Buffer): void => {
      if (output.length < 1_000_000) output += chunk.toString();
      const port = /127\.0\.0\.1:(\d+)/.exec(output)?.[1];
      if (port !== undefined) resolve(Number(port));
    };
    child.stdout?.on('data', onData);
    child.stderr?.on('data', onData);
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output.slice(-2000)}`)));
  });
}
