import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface AgentStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it keeps the terminal: it then gets Ctrl-C from there, and cannot be the head of a group of its own. */
  readonly onTerminal: boolean;
}

/** How long an agent that was told to end may take to do so. */
const TERMINATE_GRACE_MS = 2_000;

/** An agent that runs on this process's streams. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #grouped: boolean;
  /** Settles with its exit code, 128 and more when a signal ended it. Rejects when it cannot be started. */
  readonly ended: Promise<number>;

  constructor({ command, args, cwd, env, onTerminal }: AgentStart) {
    this.#grouped = !onTerminal && process.platform !== 'win32';
    this.#child = spawn(command, args, { cwd, env, stdio: 'inherit', detached: this.#grouped });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
    });
    this.ended.catch(() => {}); // whoever waits for it hears of it
  }

  /** Passes a signal on to it and, where it has a group of its own, to all that it started. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (this.#grouped) process.kill(-pid, signal);
      else this.#child.kill(signal);
    } catch {
      // it has gone
    }
  }

  /** Ends it: told first, made to when it takes too long. Settles when it has ended. */
  async terminate(): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), TERMINATE_GRACE_MS);
    await this.ended.catch(() => {});
    clearTimeout(timer);
  }
}
