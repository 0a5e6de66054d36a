import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';

export interface AgentStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether it keeps the terminal. It then receives Ctrl-C directly, and cannot lead its own process group. */
  readonly onTerminal: boolean;
  /** Receives its stderr, which is then not passed to this process's own. */
  readonly onStderr?: (text: string) => void;
}

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_GRACE_MS = 2_000;
/** How long to wait for the rest of its stderr after its exit; a child of it may hold the pipe open. */
const LAST_WORDS_MS = 200;

/** An agent that runs on this process's streams. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #grouped: boolean;
  /** Settles with its exit code, or 128 and more after a signal. Rejects if it cannot be started. */
  readonly ended: Promise<number>;

  constructor({ command, args, cwd, env, onTerminal, onStderr }: AgentStart) {
    this.#grouped = !onTerminal && process.platform !== 'win32';
    const stdio: StdioOptions = onStderr ? ['inherit', 'inherit', 'pipe'] : 'inherit';
    this.#child = spawn(command, args, { cwd, env, stdio, detached: this.#grouped });
    const { stderr } = this.#child;
    if (onStderr) stderr?.setEncoding('utf8').on('data', onStderr);
    stderr?.on('error', () => {}); // a broken pipe delivers no more output
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
    this.ended.catch(() => {}); // callers that await it handle the error
  }

  /** Forwards a signal to it and, if it has its own group, to all processes in the group. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (this.#grouped) process.kill(-pid, signal);
      else this.#child.kill(signal);
    } catch {
      // it has ended
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. Settles when it has ended. */
  async terminate(): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), TERMINATE_GRACE_MS);
    await this.ended.catch(() => {}); // callers that await it handle the error
    clearTimeout(timer);
  }
}
