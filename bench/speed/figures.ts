import { median } from './load.ts';
import type { Stack } from './stacks.ts';

/** `figures[metric][stack]`: one value for each round. */
export type Figures = Map<string, Map<string, number[]>>;

export interface Bench {
  /** Those under test, the upstream itself (`direct`) first. */
  readonly stacks: readonly Stack[];
  readonly upstream: Stack;
  readonly rounds: number;
  readonly quick: boolean;
  readonly figures: Figures;
}

/** A section of the benchmark: measures every stack in each round, one after the other. */
export interface Section {
  readonly name: string;
  /** It wants processes that have served nothing yet. */
  readonly fresh?: boolean;
  readonly run: (bench: Bench) => Promise<void>;
}

export function note({ figures }: Bench, metric: string, stack: string, value: number): void {
  const byStack = figures.get(metric) ?? new Map<string, number[]>();
  figures.set(metric, byStack);
  byStack.set(stack, [...(byStack.get(stack) ?? []), value]);
}

/** Median of a metric; `NaN` where it was not measured. */
export function medianOf(figures: Figures, metric: string, stack: string): number {
  return median(figures.get(metric)?.get(stack) ?? []);
}

/** What a stack adds to a direct connection, by a metric of latency in milliseconds. */
export function addedMs(figures: Figures, metric: string, stack: string): number {
  return medianOf(figures, metric, stack) - medianOf(figures, metric, 'direct');
}
