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
  return median(valuesOf(figures, metric, stack));
}

/** What a stack adds to a direct connection, by a metric of latency in milliseconds. */
export function addedMs(figures: Figures, metric: string, stack: string): number {
  return median(added(figures, metric, stack));
}

/**
 * One stack over another: the ratio in each round, and of these the median, so that what slows the machine for a while
 * slows both. `NaN` where one was not measured.
 */
export function ratioOf(figures: Figures, metric: string, stack: string, base: string): number {
  return overRounds(valuesOf(figures, metric, stack), valuesOf(figures, metric, base));
}

/** The same of what both add to a direct connection. */
export function addedRatioOf(figures: Figures, metric: string, stack: string, base: string): number {
  return overRounds(added(figures, metric, stack), added(figures, metric, base));
}

function valuesOf(figures: Figures, metric: string, stack: string): readonly number[] {
  return figures.get(metric)?.get(stack) ?? [];
}

function added(figures: Figures, metric: string, stack: string): readonly number[] {
  const direct = valuesOf(figures, metric, 'direct');
  return valuesOf(figures, metric, stack).map((value, round) => value - (direct[round] ?? Number.NaN));
}

function overRounds(own: readonly number[], base: readonly number[]): number {
  return median(own.map((value, round) => value / (base[round] ?? Number.NaN)));
}
