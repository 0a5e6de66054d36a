import type { Limits } from './limits.ts';
import type { GroupLoad } from './processes.ts';

const SECOND_MS = 1_000;
const CPU_WINDOW_S = 10;
const CPU_MEANS = 3;

export interface ExceededLimit {
  readonly key: 'memory_mb' | 'cpu_percent';
  readonly used: number;
}

/** Compares the load of one child with its limits, once a second. */
export class LoadWatch {
  #windowStartMs = 0;
  #seconds = 0;
  #meansAbove = 0;

  passed({ memory_mb, cpu_percent }: Limits, load: GroupLoad): ExceededLimit | null {
    if (memory_mb !== undefined && load.memoryMb > memory_mb) return { key: 'memory_mb', used: load.memoryMb };
    if (cpu_percent === undefined) return null;
    if (this.#seconds === 0) this.#windowStartMs = load.cpuMs;
    if (this.#seconds++ < CPU_WINDOW_S) return null;
    const percent = ((load.cpuMs - this.#windowStartMs) / (CPU_WINDOW_S * SECOND_MS)) * 100;
    [this.#seconds, this.#windowStartMs] = [1, load.cpuMs];
    this.#meansAbove = percent > cpu_percent ? this.#meansAbove + 1 : 0;
    return this.#meansAbove >= CPU_MEANS ? { key: 'cpu_percent', used: percent } : null;
  }
}
