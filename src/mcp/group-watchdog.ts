import { type ChildProcess, spawn } from 'node:child_process';

/**
 * A shell script that reads `+ <group>` and `- <group>` from a pipe. When its parent ends, however it ends, the pipe
 * closes, and the script kills the remaining groups. Then it kills every process with `$1` in its environment, where
 * `/proc` shows it; twice, because a process may have started another one meanwhile.
 */
export const WATCH = `g=' '
while read -r sign group; do
  case $sign in
    +) g="$g$group " ;;
    -) case $g in *" $group "*) g="\${g%% $group *} \${g#* $group }" ;; esac ;;
  esac
done
for group in $g; do kill -s KILL -- "-$group"; done
[ -n "$1" ] && for round in 1 2; do
  for file in $(grep -slF -- "$1" /proc/[0-9]*/environ); do
    pid=\${file#/proc/}
    kill -s KILL "\${pid%/environ}"
  done
done`;

/**
 * Ends process groups together with this process, even after SIGKILL, which this process cannot catch. A shell that
 * outlives this process holds the list; it starts with the first group. Without such a shell (Windows) groups are not
 * watched.
 */
export class GroupWatchdog {
  #shell: ChildProcess | null = null;
  readonly #mark: string;

  /** @param mark - an environment entry; processes that have it are killed as well, whatever their group */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** @param group - the group's id, which is the pid of its leader */
  watch(group: number): void {
    this.#shell ??= start(this.#mark);
    this.#send(`+ ${group}\n`);
  }

  /** Stops watching a group that has ended or may outlive this process. */
  release(group: number): void {
    this.#send(`- ${group}\n`);
  }

  #send(line: string): void {
    const stdin = this.#shell?.stdin;
    if (stdin?.writable) stdin.write(line);
  }
}

function start(mark: string): ChildProcess {
  // in a group of its own, so that a signal to our group does not end it
  const shell = spawn('/bin/sh', ['-c', WATCH, 'sh', mark], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {}); // without a shell, commands still run
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as typeof shell.stdin & { unref?: () => void }).unref?.(); // must not keep this process alive
  return shell;
}
