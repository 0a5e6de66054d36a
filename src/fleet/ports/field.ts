import type { FleetEvent } from './events.ts';

export interface StoredPoint {
  readonly nodeId: string;
  readonly type: string;
  readonly intensity: number;
  readonly updatedAt: number;
}

export interface PointChange {
  readonly point: StoredPoint;
  readonly nodeTotal: { readonly nodeId: string; readonly intensity: number; readonly updatedAt: number };
}

/** One field of pheromones. */
export interface FieldStore {
  /** Adds to what is there, all or nothing; `null` when there is no room. */
  mark(
    marks: readonly { readonly nodeId: string; readonly type: string; readonly intensity: number }[],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null>;
  /**
   * Replaces every point by what `change` makes of it, some hundred in each transaction; intensity 0 removes it.
   *
   * @param change - pure: it may be called again, and what it comes to is the same in one step as in several
   */
  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]>;
  points(): Promise<{ readonly points: readonly StoredPoint[]; readonly atMs: number }>;
}
