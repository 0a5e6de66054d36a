export interface ProcessStart {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Private files created by the caller: two for output, one for stdin. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdin: string | null;
}

export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface StartedProcess {
  readonly pid: number;
  /** Settles on exit. */
  readonly ended: Promise<ProcessEnd>;
}

export interface GroupLoad {
  readonly memoryMb: number;
  /** Total CPU time, in milliseconds. */
  readonly cpuMs: number;
}

export interface Processes {
  /** Whether this system can measure memory and CPU of a process group. */
  readonly canLook: boolean;
  /** Starts a process as leader of its own process group. @throws the system's error */
  start(start: ProcessStart): Promise<StartedProcess>;
  /** Start time of a process in system units; `null` if there is no process with this pid. */
  startOf(pid: number): string | null;
  /** Signals a whole group; `false` if none of its processes is left. */
  signal(group: number, signal: NodeJS.Signals | 0): boolean;
  /** @returns `null` if the load cannot be measured */
  load(group: number): GroupLoad | null;
  /** Finds the group leader whose environment has the variable with a matching value. */
  findByEnvironment(name: string, fits: (value: string) => boolean): number | null;
}
