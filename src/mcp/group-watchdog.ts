import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads `+ <group>` and `- <group>` from the pipe that its maker holds, and kills what is left when that closes, which
 * it does however its maker ends. Then it kills every process with `$1` in its environment, where `/proc` shows those;
 * twice, for one may have started another meanwhile.
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
 * Sees to it that process groups end with this process even when it is killed with SIGKILL, of which it learns nothing: a
 * shell that outlives it holds the list. It starts with the first group. Where there is no such shell (Windows) nothing
 * is watched.
 */
export class GroupWatchdog {
  #shell: ChildProcess | null = null;
  readonly #mark: string;

  /** @param mark - stands in the environment of whatever is to end as well, in a group of the list or not */
  constructor(mark: string) {
    this.#mark = mark;
  }

  /** @param group - its id, which is the process id of its head */
  watch(group: number): void {
    this.#shell ??= start(this.#mark);
    this.#tell(`+ ${group}\n`);
  }

  /** The group ended, or may go on without us. */
  release(group: number): void {
    this.#tell(`- ${group}\n`);
  }

  #tell(line: string): void {
    const stdin = this.#shell?.stdin;
    if (stdin?.writable) stdin.write(line);
  }
}

function start(mark: string): ChildProcess {
  // a group of its own: what ends ours must not end it too
  const shell = spawn('/bin/sh', ['-c', WATCH, 'sh', mark], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {}); // without a shell commands run all the same
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as typeof shell.stdin & { unref?: () => void }).unref?.(); // must not keep this process
  return shell;
}
