import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type CommandTag, CommandTags, processesWith } from './command-tag.ts';
import { GroupWatchdog } from './group-watchdog.ts';
import { OutputCollector, WireBudget } from './output.ts';

/** What a command left behind. */
export interface Finished {
  readonly stdout: string;
  readonly stderr: string;
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  /** Bytes of both streams that fit no answer. */
  readonly droppedBytes: number;
}

export interface CommandRunnerOptions {
  /** Where commands run. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** How long a command that was told to end may take to do so. */
const CANCEL_GRACE_MS = 2_000;

/**
 * Runs commands without a time limit and without a limit on their output. Each is the head of a process group of its
 * own, so that whatever it started ends with it, and with this process, however that ends. On Linux this includes what left
 * the group (`setsid`), and what commands left behind that have ended: these end with this process.
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
   * Runs a program to its end, which is when it has exited and nothing holds its output open any more.
   *
   * @throws the error of `spawn` when it cannot be started; the reason of `signal`, which ends it
   */
  async run(file: string, args: readonly string[], signal: AbortSignal): Promise<Finished> {
    signal.throwIfAborted();
    const { cwd, env } = this.#options;
    // its stdin must not be the protocol's stream
    const tag = this.#tags.next();
    const options = { cwd, env: { ...env, ...tag }, detached: hasGroups } as const;
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    const budget = new WireBudget();
    const stdout = new OutputCollector(budget);
    const stderr = new OutputCollector(budget);
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk)).on('error', ignore);
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk)).on('error', ignore);
    child.on('error', ignore); // beside the wait below, which sees the first one only

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

  /** Tells every command to end, and after `graceMs` leaves it no choice. */
  async endAll(graceMs: number): Promise<void> {
    await Promise.all([...this.#running.keys()].map((child) => this.#end(child, graceMs)));
  }

  /** Ends every command at once; for a process that is about to exit and can wait for nothing. */
  killAll(): void {
    for (const [child, tag] of this.#running) signalTree(child, tag, 'SIGKILL');
  }

  async #end(child: ChildProcess, graceMs: number): Promise<void> {
    // nobody reads it any more; a full pipe would keep the command from ending by itself
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
/** How often a group that was told to end is looked at. */
const LOOK_MS = 20;

/** Sends a signal to a command and all that it started. @returns whether anything of it was there */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (child.pid === undefined) return false; // it never started
  try {
    return hasGroups ? process.kill(-child.pid, signal) : child.kill(signal);
  } catch {
    return false; // all of it has gone
  }
}

/** Sends a signal to a command's group, and to what it started outside of it. @returns the latter */
function signalTree(child: ChildProcess, tag: CommandTag | undefined, signal: NodeJS.Signals): number[] {
  const tagged = tag === undefined ? [] : processesWith(tag); // before their parents end
  signalGroup(child, signal);
  for (const pid of tagged) signalOne(pid, signal);
  return tagged;
}

function signalOne(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false; // it has gone
  }
}

/** Waits until nothing of it is left, at most `limitMs`. The head of the group may end before what it started. */
async function treeEnds(child: ChildProcess, strays: readonly number[], limitMs: number): Promise<void> {
  const endAt = performance.now() + limitMs;
  while (performance.now() < endAt && (signalGroup(child, 0) || strays.some((pid) => signalOne(pid, 0)))) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
