import { compare } from '../graph/model.ts';
export interface Point {
  readonly nodeId: string;
  readonly type: string;
  /** Positive. */
  readonly intensity: number;
  /** Epoch milliseconds. */
  readonly updatedAt: number;
}

interface NodeTotal {
  readonly nodeId: string;
  readonly intensity: number;
  readonly updatedAt: number;
}

/** Pheromones below this intensity have vanished. */
const VANISHED = 1e-6;

/** Stored name of a type; `null` for a blank one. */
export function normaliseType(type: string): string | null {
  return type.trim().toLowerCase() || null;
}

/**
 * Applies exponential decay since the point's last change (a mark or a decay). Intensity 0 means vanished. A clock that
 * went back has no effect.
 */
export function decayed(point: Point, nowMs: number, halfLifeMs: number): Point {
  const elapsedMs = Math.max(0, nowMs - point.updatedAt);
  const intensity = point.intensity * 0.5 ** (elapsedMs / halfLifeMs);
  return { ...point, intensity: intensity < VANISHED ? 0 : intensity, updatedAt: Math.max(nowMs, point.updatedAt) };
}

/** Sum over all types per node, strongest first, then by id. */
export function totalsOf(points: readonly Point[]): NodeTotal[] {
  const totals = new Map<string, NodeTotal>();
  for (const { nodeId, intensity, updatedAt } of points) {
    const sum = totals.get(nodeId);
    totals.set(nodeId, {
      nodeId,
      intensity: (sum?.intensity ?? 0) + intensity,
      updatedAt: Math.max(sum?.updatedAt ?? 0, updatedAt),
    });
  }
  return [...totals.values()].sort((a, b) => b.intensity - a.intensity || compare(a.nodeId, b.nodeId));
}

/** Sorts by strength, descending, then by node and type. */
export function strongestFirst(points: readonly Point[]): Point[] {
  return [...points].sort(
    (a, b) => b.intensity - a.intensity || compare(a.nodeId, b.nodeId) || compare(a.type, b.type),
  );
}

export function shownIntensity(intensity: number): number {
  return Math.round(intensity * 1e6) / 1e6;
}
