import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Shell script that reads `+ <group>` and `- <group>` from a pipe. When its parent ends in any way, the pipe closes,
 * and the script kills the remaining groups. If there is `/proc`, it also kills every process with `$1` in its
 * environment; twice, because a process may have started another one in between.
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
 * Kills process groups when this process ends, even by SIGKILL. A shell that outlives this process keeps the list; it
 * starts with the first group. Without a shell (Windows), groups are not watched.
 */
export class GroupWatchdog {
  #shell: ChildProcess | null = null;
  readonly #mark: string;

  /** @param mark - an environment entry; processes with it are killed too, in any group */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** @param group - the group's id, which is the pid of its leader */
  watch(group: number): void {
    this.#shell ??= start(this.#mark);
    this.#send(`+ ${group}\n`);
  }

  /** Stops watching a group that has ended, or may outlive this process. */
  release(group: number): void {
    this.#send(`- ${group}\n`);
  }

  #send(line: string): void {
    const stdin = this.#shell?.stdin;
    if (stdin?.writable) stdin.write(line);
  }
}

function start(mark: string): ChildProcess {
  // in its own group, so that a signal to our group does not end it
  const shell = spawn('/bin/sh', ['-c', WATCH, 'sh', mark], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {}); // commands still run without the shell
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as typeof shell.stdin & { unref?: () => void }).unref?.(); // does not keep this process alive
  return shell;
}
