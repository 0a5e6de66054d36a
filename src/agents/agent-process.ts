import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface AgentStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it keeps the terminal: it then gets Ctrl-C from there, and cannot be the head of a group of its own. */
  readonly onTerminal: boolean;
  /** Takes its error output, which then does not go to this process's own. */
  readonly onStderr?: (text: string) => void;
}

/** How long an agent that was told to end may take to do so. */
const TERMINATE_GRACE_MS = 2_000;
/** How long the last of its error output is waited for once it has ended; what it started may hold the pipe for ever. */
const LAST_WORDS_MS = 200;

/** An agent that runs on this process's streams. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #grouped: boolean;
  /** Settles with its exit code, 128 and more when a signal ended it. Rejects when it cannot be started. */
  readonly ended: Promise<number>;

  constructor({ command, args, cwd, env, onTerminal, onStderr }: AgentStart) {
    this.#grouped = !onTerminal && process.platform !== 'win32';
    const stdio: StdioOptions = onStderr ? ['inherit', 'inherit', 'pipe'] : 'inherit';
    this.#child = spawn(command, args, { cwd, env, stdio, detached: this.#grouped });
    const { stderr } = this.#child;
    if (onStderr) stderr?.setEncoding('utf8').on('data', onStderr);
    stderr?.on('error', () => {}); // a pipe that broke says no more
    const silent = new Promise<void>((resolve) => {
      if (stderr) stderr.once('close', resolve);
      else resolve();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => {
        const done = (): void => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']);
        void silent.then(done);
        if (stderr) setTimeout(done, LAST_WORDS_MS).unref();
      });
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
    await this.ended.catch(() => {}); // whoever waits for it hears of it
    clearTimeout(timer);
  }
}
