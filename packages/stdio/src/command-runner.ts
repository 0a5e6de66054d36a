import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { GroupWatchdog } from './group-watchdog.ts';
import { OutputCollector, WireBudget } from './output.ts';

/** Environment variable of a command, inherited by all descendants in any process group or session. */
const VARIABLE = 'MCP_COMMAND_TAG';

/** Random part of a tag: 72 bits. */
function letters(): string {
  return randomBytes(9).toString('base64url');
}

class CommandTags {
  readonly #server = letters();

  get entry(): string {
    return `${VARIABLE}=${this.#server}.`;
  }

  next(): Readonly<Record<typeof VARIABLE, string>> {
    return { [VARIABLE]: `${this.#server}.${letters()}` };
  }
}

type CommandTag = ReturnType<CommandTags['next']>;

/**
 * The processes whose environment contains a tag, including those that left the command's process group (`setsid`,
 * daemons). Linux only: elsewhere the list is empty, and only the process group ends with a command.
 */
function processesWith(tag: CommandTag): number[] {
  if (process.platform !== 'linux') return [];
  const entry = Buffer.from(`${VARIABLE}=${tag[VARIABLE]}`);
  return entriesOf('/proc')
    .filter((name) => /^\d{1,10}$/.test(name) && environOf(name).includes(entry))
    .map(Number);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no /proc on this system
  }
}

function environOf(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0); // it has ended, or belongs to another user
  }
}

export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
  /** `null` if the command was ended by a signal. */
  readonly exitCode: number | null;
  /** Bytes of both streams that did not fit into the answer. */
  readonly droppedBytes: number;
}

interface CommandRunnerOptions {
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const CANCEL_GRACE_MS = 2_000;

/**
 * Runs commands without a time limit and without a limit on their output. Each command leads its own process group, so
 * that its child processes end with it. All groups end with this process, even if it is killed. On Linux this includes
 * processes that left their group (`setsid`) and background processes of finished commands; the latter end with this
 * process.
 */
export class CommandRunner {
  readonly #options: CommandRunnerOptions;
  readonly #running = new Map<ChildProcess, CommandTag>();
  readonly #tags = new CommandTags();
  readonly #watchdog = new GroupWatchdog(this.#tags.entry);

  constructor(options: CommandRunnerOptions) {
    this.#options = options;
  }

  /**
   * Runs a program until it has exited and no process keeps its output open.
   *
   * @throws the error of `spawn` when it cannot be started; the reason of `signal` when aborted
   */
  async run(file: string, args: readonly string[], signal: AbortSignal): Promise<Finished> {
    signal.throwIfAborted();
    const { cwd, env } = this.#options;
    // the command must not read the protocol stream on stdin
    const tag = this.#tags.next();
    const options = { cwd, env: { ...env, ...tag }, detached: hasGroups } as const;
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const budget = new WireBudget();
    const stdout = new OutputCollector(budget);
    const stderr = new OutputCollector(budget);
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk)).on('error', ignore);
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk)).on('error', ignore);
    child.on('error', ignore); // only the first error is handled by the wait below

    const cancel = (): void => void this.#end(child, CANCEL_GRACE_MS);
    signal.addEventListener('abort', cancel, { once: true });
    this.#started(child, tag);
    try {
      const [exitCode] = (await once(child, 'close', { signal })) as [number | null];
      const droppedBytes = stdout.dropped + stderr.dropped;
      return { stdout: stdout.takeText(), stderr: stderr.takeText(), exitCode, droppedBytes };
    } catch (cause) {
      signal.throwIfAborted();
      throw cause;
    } finally {
      signal.removeEventListener('abort', cancel);
      if (!signal.aborted) this.#ended(child);
    }
  }

  /** Sends SIGTERM to every command, and SIGKILL after `graceMs`. */
  async endAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#running.keys()].map((child) => this.#end(child, graceMs)));
  }

  /** Kills every command at once. For a process that is about to exit and cannot wait. */
  killAll(): void {
    for (const [child, tag] of this.#running) signalTree(child, tag, 'SIGKILL');
  }

  async #end(child: ChildProcess, graceMs: number): Promise<void> {
    // nobody reads the output any more, and a full pipe would prevent the exit
    child.stdout?.destroy();
    child.stderr?.destroy();
    const tag = this.#running.get(child);
    const strays = signalTree(child, tag, 'SIGTERM');
    await treeEnds(child, strays, graceMs);
    signalTree(child, tag, 'SIGKILL');
    this.#ended(child);
  }

  #started(child: ChildProcess, tag: CommandTag): void {
    this.#running.set(child, tag);
    if (hasGroups && child.pid !== undefined) this.#watchdog.watch(child.pid);
  }

  #ended(child: ChildProcess): void {
    const isFirst = this.#running.delete(child);
    if (isFirst && hasGroups && child.pid !== undefined) this.#watchdog.release(child.pid);
  }
}

function ignore(): void {}

const hasGroups = process.platform !== 'win32';
/** Poll interval for the end of a signalled group. */
const POLL_MS = 20;

/** Signals a command and its process group. @returns whether any process was left */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false; // the command never started
  try {
    return hasGroups ? process.kill(-child.pid, signal) : child.kill(signal);
  } catch {
    return false; // the whole group has ended
  }
}

/** Signals a command's group and its processes outside the group. @returns the latter */
function signalTree(child: ChildProcess, tag: CommandTag | undefined, signal: NodeJS.Signals): number[] {
  const tagged = tag === undefined ? [] : processesWith(tag); // collected before their parents end
  signalGroup(child, signal);
  for (const pid of tagged) signalOne(pid, signal);
  return tagged;
}

function signalOne(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // the process has ended
  }
}

/** Waits at most `limitMs` until no process is left. A group's leader may end before its children. */
async function treeEnds(child: ChildProcess, strays: readonly number[], limitMs: number): Promise<void> {
  const endAt = performance.now() + limitMs;
  while (performance.now() < endAt && (signalGroup(child, 0) || strays.some((pid) => signalOne(pid, 0)))) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
