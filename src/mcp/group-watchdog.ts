import { type ChildProcess, spawn } from 'node:child_process';

/**
 * Reads `+ <group>` and `- <group>` from the pipe that its maker holds, and kills what is left when that closes, which
 * it does however its maker ends.
 */
export const WATCH = `g=' '
while read -r sign group; do
  case $sign in
    +) g="$g$group " ;;
    -) case $g in *" $group "*) g="\${g%% $group *} \${g#* $group }" ;; esac ;;
  esac
done
for group in $g; do kill -s KILL -- "-$group"; done`;

/**
 * Sees to it that process groups end with this process even when it is killed with SIGKILL, of which it learns nothing: a
 * shell that outlives it holds the list. It starts with the first group. Where there is no such shell (Windows) nothing
 * is watched.
 */
export class GroupWatchdog {
  #shell: ChildProcess | null = null;

  /** @param group - its id, which is the process id of its head */
  watch(group: number): void {
    this.#shell ??= start();
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

function start(): ChildProcess {
  // a group of its own: what ends ours must not end it too
  const shell = spawn('/bin/sh', ['-c', WATCH], { detached: true, stdio: ['pipe', 'ignore', 'ignore'] });
  shell.on('error', () => {}); // without a shell commands run all the same
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as typeof shell.stdin & { unref?: () => void }).unref?.(); // must not keep this process
  return shell;
}
