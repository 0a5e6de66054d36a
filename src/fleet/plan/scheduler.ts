/** Something that a reactive run has to attend to. */
export type Stimulus = 'task_ready' | 'task_done' | 'blackboard' | 'pheromone';

export interface Queued {
  readonly stimulus: Stimulus;
  /** The node that it is about; `null` where it is about none. */
  readonly nodeId: string | null;
  readonly atMs: number;
  /** What to do when its turn comes. */
  readonly attend: () => void;
}

const BASE: Readonly<Record<Stimulus, number>> = { task_ready: 100, task_done: 70, blackboard: 55, pheromone: 45 };
/** A pheromone, however strong, never lifts a stimulus over the next kind by more than this. */
const MAX_PHEROMONE = 20;
/** What a second of waiting adds. */
const AGE_PER_SECOND = 1;
/** More would mean that nobody attends: the oldest of the lesser kinds go. */
const MAX_QUEUED = 5_000;

/** How urgent a stimulus is: its kind, the pheromone at its node, and how long it waits. */
export function priorityOf({ stimulus, atMs }: Queued, intensity: number, nowMs: number): number {
  const pheromone = Math.min(MAX_PHEROMONE, Math.log2(1 + Math.max(0, intensity)) * 2);
  return BASE[stimulus] + pheromone + (Math.max(0, nowMs - atMs) / 1000) * AGE_PER_SECOND;
}

/** What waits to be attended to, the most urgent first. */
export class StimulusQueue {
  readonly #waiting: Queued[] = [];

  get size(): number {
    return this.#waiting.length;
  }

  add(queued: Queued): void {
    this.#waiting.push(queued);
    if (this.#waiting.length > MAX_QUEUED) this.#waiting.shift();
  }

  /** @param intensityAt - the pheromone at a node now */
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
