import type { FleetStore } from '../core/ports/fleet.ts';
import { Board } from './blackboard/board.ts';
import { Children, type ChildrenOptions } from './children/children.ts';
import { hasEnded } from './children/spec.ts';
import { Contracts } from './contract-net/contracts.ts';
import { Graphs } from './graph/graphs.ts';
import type { Hints } from './hints.ts';
import { type PlanChildren, Plans } from './plan/plans.ts';
import { Stigmergy } from './stigmergy/stigmergy.ts';

export interface FleetOptions {
  readonly store: FleetStore;
  readonly newId: () => string;
  readonly instanceId: string;
  readonly halfLifeMs: number;
  readonly tickMs: number;
  /** `null` where no children are started. */
  readonly children: ChildrenOptions | null;
  readonly onFailure: (what: string, cause: unknown) => void;
}

const SWEEP_MS = 60_000;
const WAIT_MS = 30_000;
const ALL = 1_000;

/** Children, graphs, blackboard, pheromones and plans over one store. */
export class Fleet {
  readonly graphs: Graphs;
  readonly board: Board;
  readonly field: Stigmergy;
  readonly children: Children | null;
  readonly plans: Plans;
  readonly contracts: Contracts;
  readonly #options: FleetOptions;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: FleetOptions) {
    const { store, newId, halfLifeMs, instanceId, tickMs } = options;
    this.#options = options;
    this.graphs = new Graphs({ store, newId });
    this.board = new Board(store.board);
    this.field = new Stigmergy(store.field, halfLifeMs);
    this.children = options.children && new Children(options.children);
    this.contracts = new Contracts({ store: store.contracts, newId, candidates: () => this.#candidates() });
    this.plans = new Plans({
      ...{ store, newId, instanceId, tickMs, board: this.board, field: this.field },
      children: this.children && planChildren(this.children, store),
    });
  }

  /** Takes over what an earlier server left, and begins to look after things. Never rejects. */
  async open(): Promise<void> {
    const { store, onFailure } = this.#options;
    await this.children?.open();
    await this.plans.open(() => false).catch((cause: unknown) => onFailure('plans', cause));
    this.#timer = setInterval(() => {
      this.graphs.sweep().catch((cause: unknown) => onFailure('sweep', cause));
    }, SWEEP_MS);
    this.#timer.unref();
    await store.tell([]);
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.plans.close();
    await this.children?.close();
  }

  async #candidates() {
    const running = await this.#options.store.children.list({ state: 'running', limit: ALL });
    return running.map(({ childId, metadata, startedMs }) => ({ childId, metadata, sinceMs: startedMs }));
  }
}

/** What plans do with children: start one and wait for its end, and end those of a run. */
function planChildren(children: Children, store: FleetStore): PlanChildren {
  return {
    async run(input, hints: Hints, signal) {
      const made = await children.create(input as Parameters<Children['create']>[0], hints, { childId: null });
      for (;;) {
        const now = await children.status(made.child_id, WAIT_MS, signal);
        if (hasEnded(now)) return now;
        if (signal.aborted) {
          await children.cancel(made.child_id, undefined);
          throw new Error('aborted');
        }
      }
    },
    async cancelOf(runId) {
      const open = await store.children.list({ runId, open: true, limit: ALL });
      await Promise.all(open.map(({ childId }) => children.cancel(childId, undefined)));
    },
  };
}
