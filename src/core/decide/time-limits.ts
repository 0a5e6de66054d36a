/**
 * Limit for deciding about one text. When it is reached, the text stays whole (`timeout`).
 *
 * What is cut from a request must not depend on how busy the machine is. Requests are therefore limited by CPU time per
 * text, with ample room for the largest text; time in queues does not count. A caller of `prune_text` sets a time on
 * the wall clock instead, by `performance.now()`.
 */
export type TimeLimit =
  | { readonly cpuMs: number; readonly deadline?: undefined }
  | { readonly deadline: number; readonly cpuMs?: undefined };

/** Share of a limit or interval before CPU time is read at all, since a reading takes up to a millisecond. */
const UNMEASURED_SHARE = 0.01;

/** Returns whether a limit is reached. CPU time counts once a hundredth of the limit has passed on the clock. */
export function limitReached({ cpuMs, deadline }: TimeLimit): () => boolean {
  if (cpuMs === undefined) return () => performance.now() > deadline;
  const startedAt = performance.now();
  let startedMs: number | undefined;
  return () => {
    // wall-clock time is an upper bound for CPU time and much cheaper to read
    const elapsedMs = performance.now() - startedAt;
    if (elapsedMs < cpuMs * UNMEASURED_SHARE) return false;
    startedMs ??= threadCpuMs();
    return elapsedMs >= cpuMs && threadCpuMs() - startedMs >= cpuMs;
  };
}

type CpuUsage = typeof process.cpuUsage;

/** CPU time of this thread, in milliseconds. Node before 22.19 only reports all threads together. */
export function threadCpuMs(): number {
  const { threadCpuUsage = process.cpuUsage } = process as { readonly threadCpuUsage?: CpuUsage };
  return msOf(threadCpuUsage.call(process));
}

function processCpuMs(): number {
  return msOf(process.cpuUsage());
}

function msOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000;
}

/** How long to wait for work of this process, in wall-clock intervals. */
export interface Patience {
  readonly intervalMs: number;
  /** Maximum number of intervals. Waiting ends early after an interval in which this process was idle. */
  readonly intervals: number;
}

/** Intervals of `MCP_PRUNER_TIMEOUT_MS` for which a request waits while this process works: a minute by default. */
const INTERVALS = 6;
/**
 * Maximum wait on wires that verify the history, where a text that is forwarded whole can never be cut later. Shorter
 * than the clients' own time-outs.
 */
const VERIFIED_PATIENCE_MS = 90_000;

/**
 * How long a request waits for its decisions.
 *
 * @param timeoutMs - `MCP_PRUNER_TIMEOUT_MS`
 */
export function patienceOf(timeoutMs: number, verifiesHistory = false): Patience {
  if (!verifiesHistory) return { intervalMs: timeoutMs, intervals: INTERVALS };
  return { intervalMs: Math.max(VERIFIED_PATIENCE_MS, timeoutMs), intervals: 1 };
}

/** The longest wait, in milliseconds. */
export function longestMs({ intervalMs, intervals }: Patience): number {
  return intervalMs * intervals;
}

/** Below this share of CPU use in an interval, a process counts as idle. */
const IDLE_SHARE = 0.03;

/**
 * Calls back when patience is exhausted. Intervals during which the whole process was suspended (machine asleep) do not
 * count.
 *
 * @returns a function that ends the wait
 */
export function whenPatienceEnds({ intervalMs, intervals }: Patience, callback: () => void): () => void {
  let left = intervals;
  let startedMs = 0;
  let usedMs = 0;
  let timer: NodeJS.Timeout;
  const startInterval = (): void => {
    timer = setTimeout(measureInterval, intervalMs * UNMEASURED_SHARE);
  };
  const measureInterval = (): void => {
    startedMs = performance.now();
    usedMs = processCpuMs();
    timer = setTimeout(endInterval, intervalMs * (1 - UNMEASURED_SHARE));
  };
  const endInterval = (): void => {
    const elapsedMs = performance.now() - startedMs;
    const isIdle = processCpuMs() - usedMs < IDLE_SHARE * elapsedMs;
    const wasStopped = elapsedMs > 2 * intervalMs;
    if (wasStopped || (--left > 0 && !isIdle)) startInterval();
    else callback();
  };
  startInterval();
  return () => clearTimeout(timer);
}

/** Rejection reason once a request's time limit has passed. */
export const TIMED_OUT = new Error('deciding took too long');

/**
 * Result of `work`, or `null` when patience is exhausted. The work is not cancelled; its late result is dropped.
 *
 * @param onLate - called if the work fails after the wait ended
 */
export function within<T>(work: Promise<T>, patience: Patience, onLate: (cause: unknown) => void): Promise<T | null> {
  return new Promise((resolve, reject) => {
    let failed = reject;
    const end = whenPatienceEnds(patience, () => {
      failed = onLate;
      resolve(null);
    });
    void work.then(resolve, (cause: unknown) => failed(cause)).finally(end);
  });
}
