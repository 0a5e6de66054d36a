import { type Lines, startOf } from 'mcp-pruner/engine/text/lines.ts';
import { formatMarker, formatShortMarker } from 'mcp-pruner/engine/text/marker.ts';
import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import type { LineRange } from 'mcp-pruner/engine/types.ts';

/** The outcome of one system on one case at one ratio. Shares are 0..1. */
export interface Outcome {
  /** Share of needed lines that stayed. */
  readonly recall: number;
  readonly savedChars: number;
  readonly savedTokens: number;
  readonly keptLines: number;
  /** Share of structural lines that stayed; `null` if there are none. */
  readonly structure: number | null;
}

/** An id of realistic length, so that markers cost the same for every system. */
export const SAMPLE_ID = 'prn_000000000000';

/** Minimum number of lines to keep under the limits. */
export function budgetFor(lineCount: number, ratio: number, minKeep: number): number {
  return Math.max(Math.min(lineCount, minKeep), lineCount - Math.floor(ratio * lineCount + 1e-9));
}

/** Runs of flags with the given `value`, as 1-based inclusive ranges. */
export function runsOf(flags: Uint8Array, value: 0 | 1): LineRange[] {
  const out: LineRange[] = [];
  for (let i = 0; i < flags.length; i++) {
    if (flags[i] !== value) continue;
    const first = i;
    while (i + 1 < flags.length && flags[i + 1] === value) i++;
    out.push({ startLine: first + 1, endLine: i + 1 });
  }
  return out;
}

/** Flags of the kept lines. */
export function keptBy(cuts: readonly LineRange[], lineCount: number): Uint8Array {
  const kept = new Uint8Array(lineCount).fill(1);
  for (const { startLine, endLine } of cuts) kept.fill(0, startLine - 1, endLine);
  return kept;
}

/** Format of the markers of a selection. */
export interface Markers {
  readonly reasonOf?: (cut: LineRange) => string;
  /** Whether all but the first are short, as in the proxy. */
  readonly areShort?: boolean;
}

/** Measures a selection of lines, counting the characters of markers against it. */
export function outcomeOf(
  lines: Lines,
  kept: Uint8Array,
  needed: readonly number[],
  structural: Uint8Array,
  { reasonOf = () => 'hors focus', areShort = false }: Markers = {},
): Outcome {
  let chars = 0;
  let tokens = 0;
  for (const { startLine, endLine } of runsOf(kept, 1)) {
    const from = startOf(lines, startLine);
    const to = startOf(lines, endLine + 1);
    chars += to - from;
    tokens += estimateTokens(lines.text, from, to);
  }
  for (const [i, cut] of runsOf(kept, 0).entries()) {
    const isFull = i === 0 || !areShort;
    const text = isFull ? formatMarker({ pruneId: SAMPLE_ID, ...cut, reason: reasonOf(cut) }) : formatShortMarker(cut);
    const marker = `${text}\n`;
    chars += marker.length;
    tokens += estimateTokens(marker);
  }
  let hits = 0;
  for (const line of needed) hits += kept[line - 1] ?? 0;
  let structureKept = 0;
  let structureAll = 0;
  structural.forEach((flag, i) => {
    structureAll += flag;
    if (flag) structureKept += kept[i] ?? 0;
  });
  return {
    recall: hits / needed.length,
    savedChars: 1 - chars / Math.max(1, lines.text.length),
    savedTokens: 1 - tokens / Math.max(1, estimateTokens(lines.text)),
    keptLines: kept.reduce((a, b) => a + b, 0),
    structure: structureAll === 0 ? null : structureKept / structureAll,
  };
}

/** A point of the curve: share saved, recall. */
export type Point = readonly [saved: number, recall: number];

/**
 * The recall-versus-saving curve through a group's means, from `(0, 1)` (everything kept) to `(1, 0)` (everything cut).
 * Recall at a saving is the best recall at that or a higher saving.
 */
function curveOf(points: readonly Point[]): Point[] {
  const clamped = points.map(([saved, recall]): Point => [Math.max(0, Math.min(1, saved)), recall]);
  const sorted = [...clamped, [1, 0] as Point].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const best: Point[] = [];
  for (const point of sorted.reverse()) if (point[1] > (best.at(-1)?.[1] ?? -1)) best.push(point);
  const curve = best.reverse();
  if ((curve[0]?.[0] ?? 1) > 0) curve.unshift([0, 1]);
  return curve;
}

/** Area under the curve over savings from 0 to 1. */
export function areaOf(points: readonly Point[]): number {
  const curve = curveOf(points);
  let area = 0;
  curve.forEach(([saved, recall], i) => {
    const next = curve[i + 1];
    if (next) area += ((next[0] - saved) * (recall + next[1])) / 2;
  });
  return area;
}

/** Recall at a saving, linearly interpolated between the curve's points. */
export function recallAt(points: readonly Point[], saved: number): number {
  const curve = curveOf(points);
  for (let i = 0; i + 1 < curve.length; i++) {
    const [x0, y0] = curve[i] ?? [0, 1];
    const [x1, y1] = curve[i + 1] ?? [1, 0];
    if (saved <= x1) return x1 === x0 ? y1 : y0 + ((Math.max(saved, x0) - x0) / (x1 - x0)) * (y1 - y0);
  }
  return 0;
}

export function mean(values: readonly number[]): number {
  return values.length === 0 ? Number.NaN : values.reduce((a, b) => a + b, 0) / values.length;
}
