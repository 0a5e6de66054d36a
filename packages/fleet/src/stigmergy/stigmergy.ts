import { z } from 'zod';
import { Changes } from '../changes.ts';
import { FleetError } from '../errors.ts';
import { id } from '../graph/input.ts';
import { type Caller, eventOf, type PointChange, type StoredPoint } from '../ports.ts';
import type { FieldStore } from '../tables/field.ts';
import { nextTurn } from '../turns.ts';
import { decayed, normaliseType, shownIntensity, strongestFirst, totalsOf } from './field.ts';

export const mark = z.strictObject({
  node_id: id,
  type: z.string().min(1).max(200),
  intensity: z.number().positive().max(10_000),
});

export class Stigmergy {
  readonly changes = new Changes();
  readonly #store: FieldStore;
  readonly #halfLifeMs: number;

  constructor(store: FieldStore, halfLifeMs: number) {
    this.#store = store;
    this.#halfLifeMs = halfLifeMs;
  }

  /** Adds all marks or none. */
  async mark(marks: readonly z.infer<typeof mark>[], caller: Caller) {
    const clean = marks.map(({ node_id, type, intensity }, index) => {
      const name = normaliseType(type);
      if (name === null) throw new FleetError('E-STIG-TYPE', { index });
      return { nodeId: node_id, type: name, intensity };
    });
    const changes = await this.#store.mark(clean, eventsOf(caller));
    if (changes === null) throw new FleetError('E-FLEET-BOUND', { bound: 'pheromone points' });
    this.changes.notify();
    return changes.map(shown);
  }

  async decay(halfLifeMs: number | undefined, caller: Caller) {
    const changes = await this.#store.update(
      (point, nowMs) => decayed(point, nowMs, halfLifeMs ?? this.#halfLifeMs),
      eventsOf(caller),
    );
    this.changes.notify();
    await nextTurn();
    return { changes: changes.map(shown) };
  }

  async snapshot() {
    const { points, atMs } = await this.#store.points();
    await nextTurn();
    const strongest = strongestFirst(points).map(shownPoint);
    await nextTurn();
    const totals = totalsOf(points).map(shownTotal);
    await nextTurn();
    return { generated_at: atMs, points: strongest, totals };
  }

  async totals(): Promise<ReadonlyMap<string, number>> {
    const { points } = await this.#store.points();
    return new Map(totalsOf(points).map(({ nodeId, intensity }) => [nodeId, intensity]));
  }
}

function eventsOf({ childId }: Caller) {
  return ({ point: { nodeId, type, intensity }, nodeTotal }: PointChange) => [
    eventOf(
      'stig_changed',
      { nodeId, childId },
      { type, intensity: shownIntensity(intensity), total: shownIntensity(nodeTotal.intensity) },
      'debug',
    ),
  ];
}

function shown({ point, nodeTotal }: PointChange) {
  return { point: shownPoint(point), node_total: shownTotal(nodeTotal) };
}

function shownPoint({ nodeId, type, intensity, updatedAt }: StoredPoint) {
  return { node_id: nodeId, type, intensity: shownIntensity(intensity), updated_at: updatedAt };
}

function shownTotal({ nodeId, intensity, updatedAt }: PointChange['nodeTotal']) {
  return { node_id: nodeId, intensity: shownIntensity(intensity), updated_at: updatedAt };
}
