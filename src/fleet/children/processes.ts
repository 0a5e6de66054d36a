/** A process to start. */
export interface ProcessStart {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Files that take its output, and the one it reads; private ones, made by the caller. */
  readonly stdout: string;
  readonly stderr: string;
  readonly stdin: string | null;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: string | null;
}

export interface StartedProcess {
  readonly pid: number;
  /** Settles when it has exited. */
  readonly ended: Promise<ProcessEnd>;
}

/** What a group of processes takes up. */
export interface GroupLoad {
  readonly memoryMb: number;
  /** CPU time so far, in milliseconds. */
  readonly cpuMs: number;
}

/** The processes of this machine, as far as children need them. */
export interface Processes {
  /** Whether memory and CPU of a group can be looked at. */
  readonly canLook: boolean;
  /** Starts a process as head of a group of its own. @throws the error of the system */
  start(start: ProcessStart): Promise<StartedProcess>;
  /** When a process began, as the system counts; `null` when there is none of this number. */
  startOf(pid: number): string | null;
  /** Signals a whole group; `false` when nothing of it is there. */
  signal(group: number, signal: NodeJS.Signals | 0): boolean;
  /** @returns `null` where it cannot be looked at */
  load(group: number): GroupLoad | null;
  /** The head of a group whose environment has a variable with a value that fits. */
  findByEnvironment(name: string, fits: (value: string) => boolean): number | null;
}
