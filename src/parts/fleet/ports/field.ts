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
  /** Adds to existing intensities, all or nothing; `null` if there is no room. */
  mark(
    marks: readonly { readonly nodeId: string; readonly type: string; readonly intensity: number }[],
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[] | null>;
  /**
   * Replaces every point by the result of `change`, a few hundred per transaction; a point with intensity 0 is deleted.
   *
   * @param change - pure, because it may be called again; several steps must give the same result as one
   */
  update(
    change: (point: StoredPoint, nowMs: number) => StoredPoint,
    events: (change: PointChange) => readonly FleetEvent[],
  ): Promise<readonly PointChange[]>;
  points(): Promise<{ readonly points: readonly StoredPoint[]; readonly atMs: number }>;
}
