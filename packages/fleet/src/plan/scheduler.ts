type Stimulus = 'task_ready' | 'task_done' | 'blackboard' | 'pheromone';

interface Queued {
  readonly stimulus: Stimulus;
  readonly nodeId: string | null;
  readonly atMs: number;
  readonly attend: () => void;
}

const BASE: Readonly<Record<Stimulus, number>> = { task_ready: 100, task_done: 70, blackboard: 55, pheromone: 45 };
/** Maximum priority added by pheromones, so that they cannot lift a stimulus too far above other kinds. */
const MAX_PHEROMONE = 20;
const AGE_PER_SECOND = 1;
/**
 * Maximum queue length; a longer queue would mean that nothing is handled. The oldest stimulus that no task depends on
 * is dropped.
 */
const MAX_QUEUED = 5_000;
/**
 * Kinds that are never dropped: without `task_ready`, a task would stay queued forever. Their number is limited by the
 * plan's tasks.
 */
const NEEDED: ReadonlySet<Stimulus> = new Set(['task_ready', 'task_done']);

/** Priority of a stimulus: its kind, the pheromone at its node, and its waiting time. */
export function priorityOf({ stimulus, atMs }: Queued, intensity: number, nowMs: number): number {
  const pheromone = Math.min(MAX_PHEROMONE, Math.log2(1 + Math.max(0, intensity)) * 2);
  return BASE[stimulus] + pheromone + (Math.max(0, nowMs - atMs) / 1000) * AGE_PER_SECOND;
}

export class StimulusQueue {
  readonly #waiting: Queued[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(queued: Queued): void {
    this.#waiting.push(queued);
    if (this.#waiting.length <= MAX_QUEUED) return;
    const oldest = this.#waiting.findIndex(({ stimulus }) => !NEEDED.has(stimulus));
    if (oldest >= 0) this.#waiting.splice(oldest, 1);
  }

  take(nowMs: number, intensityAt: (nodeId: string) => number): Queued | undefined {
    let best = -1;
    let urgency = Number.NEGATIVE_INFINITY;
    for (const [index, queued] of this.#waiting.entries()) {
      const priority = priorityOf(queued, queued.nodeId === null ? 0 : intensityAt(queued.nodeId), nowMs);
      if (priority > urgency) [best, urgency] = [index, priority];
    }
    return best < 0 ? undefined : this.#waiting.splice(best, 1)[0];
  }
}
