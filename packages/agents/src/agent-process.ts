import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { constants } from 'node:os';

interface AgentStart {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether the agent keeps the terminal. If so, it receives Ctrl-C directly and cannot lead its own process group. */
  readonly onTerminal: boolean;
  /** Receives the agent's stderr, which is then not forwarded to ours. */
  readonly onStderr?: (text: string) => void;
}

/** Time between SIGTERM and SIGKILL, in milliseconds. */
const TERMINATE_GRACE_MS = 2_000;
/** Wait for remaining stderr output after the exit, since a child process may keep the pipe open. */
const LAST_WORDS_MS = 200;

/** An agent process that shares this process's streams. */
export class AgentProcess {
  readonly #child: ChildProcess;
  readonly #grouped: boolean;
  /** Settles with the exit code (128 plus the number after a signal). Rejects if the agent cannot be started. */
  readonly ended: Promise<number>;

  constructor({ command, args, cwd, env, onTerminal, onStderr }: AgentStart) {
    this.#grouped = !onTerminal && process.platform !== 'win32';
    const stdio: StdioOptions = onStderr ? ['inherit', 'inherit', 'pipe'] : 'inherit';
    this.#child = spawn(command, args, { cwd, env, stdio, detached: this.#grouped });
    const { stderr } = this.#child;
    if (onStderr) stderr?.setEncoding('utf8').on('data', onStderr);
    stderr?.on('error', () => {}); // a broken pipe delivers no further output
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
    this.ended.catch(() => {}); // callers that await this handle the error
  }

  /** Forwards a signal to the agent and, if it leads a process group, to the whole group. */
  signal(signal: NodeJS.Signals): void {
    const { pid } = this.#child;
    if (pid === undefined) return;
    try {
      if (this.#grouped) process.kill(-pid, signal);
      else this.#child.kill(signal);
    } catch {
      // the process has ended
    }
  }

  /** Sends SIGTERM, and SIGKILL after the grace period. Settles when the agent has ended. */
  async terminate(): Promise<void> {
    this.signal('SIGTERM');
    const timer = setTimeout(() => this.signal('SIGKILL'), TERMINATE_GRACE_MS);
    await this.ended.catch(() => {}); // callers that await this handle the error
    clearTimeout(timer);
  }
}
