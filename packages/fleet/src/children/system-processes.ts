import { spawn } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs';
import type { GroupLoad, ProcessEnd, Processes, ProcessStart, StartedProcess } from './processes.ts';

/** Clock ticks per second in `/proc/<pid>/stat`: Linux always reports 100 to programs. */
const TICKS_PER_SECOND = 100;
const PAGE_BYTES = 4096;
/** Fields of `/proc/<pid>/stat` after the name in parentheses, counted from 0. */
const FIELD = { group: 2, userTicks: 11, systemTicks: 12, start: 19, pages: 21 } as const;

/** Processes of this machine. Memory and CPU are measured only on Linux, with `/proc`. */
export class SystemProcesses implements Processes {
  readonly canLook = process.platform === 'linux';

  async start({ file, args, cwd, env, stdout, stderr, stdin }: ProcessStart): Promise<StartedProcess> {
    const files = [openSync(stdin ?? '/dev/null', 'r'), openSync(stdout, 'a', 0o600), openSync(stderr, 'a', 0o600)];
    try {
      const child = spawn(file, args, { cwd, env: { ...env }, detached: true, stdio: files });
      const ended = new Promise<ProcessEnd>((resolve) => {
        child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
      });
      await new Promise<void>((resolve, reject) => {
        child.once('spawn', resolve);
        child.once('error', reject);
      });
      child.on('error', () => {}); // for example, if a signal could not be sent
      child.unref();
      if (child.pid === undefined) throw new Error('the process has no pid');
      return { pid: child.pid, ended };
    } finally {
      for (const fd of files) closeSync(fd);
    }
  }

  startOf(pid: number): string | null {
    if (!this.canLook) return this.#isThere(pid) ? 'unknown' : null;
    const stat = statOf(pid);
    // a zombie (ended, but not reaped) does not count as running
    return stat === null || stat[0] === 'Z' ? null : (stat[FIELD.start] ?? null);
  }

  signal(group: number, signal: NodeJS.Signals | 0): boolean {
    try {
      return process.kill(-group, signal);
    } catch {
      return false; // the whole group has ended
    }
  }

  load(group: number): GroupLoad | null {
    if (!this.canLook) return null;
    let [pages, ticks] = [0, 0];
    for (const pid of processIds()) {
      const stat = statOf(pid);
      if (stat === null || Number(stat[FIELD.group]) !== group) continue;
      pages += Number(stat[FIELD.pages]);
      ticks += Number(stat[FIELD.userTicks]) + Number(stat[FIELD.systemTicks]);
    }
    return { memoryMb: (pages * PAGE_BYTES) / 1024 / 1024, cpuMs: (ticks * 1000) / TICKS_PER_SECOND };
  }

  findByEnvironment(name: string, fits: (value: string) => boolean): number | null {
    if (!this.canLook) return null;
    for (const pid of processIds()) {
      if (Number(statOf(pid)?.[FIELD.group]) !== pid) continue;
      const found = environmentOf(pid).find((entry) => entry.startsWith(`${name}=`));
      if (found !== undefined && fits(found.slice(name.length + 1))) return pid;
    }
    return null;
  }

  #isThere(pid: number): boolean {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  }
}

function processIds(): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0);
}

/** Fields after the name; `null` if the process has ended. */
function statOf(pid: number): string[] | null {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return null;
  }
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return []; // the process belongs to another user
  }
}
