import { errorCode } from 'mcp-pruner/base/causes.ts';
import { Board } from './blackboard/board.ts';
import { Children } from './children/children.ts';
import { type ChildrenOptions, hasEnded } from './children/spec.ts';
import { Contracts } from './contract-net/contracts.ts';
import { Graphs } from './graph/graphs.ts';
import { type PlanChildren, Plans } from './plan/plans.ts';
import type { Hints } from './ports.ts';
import { serverStates } from './servers.ts';
import { Stigmergy } from './stigmergy/stigmergy.ts';
import type { FleetStore } from './tables/fleet-store.ts';

interface FleetOptions extends Pick<ChildrenOptions, 'store' | 'clock' | 'newId' | 'instanceId' | 'pid' | 'onFailure'> {
  readonly halfLifeMs: number;
  readonly tickMs: number;
  /** `null` if this server does not start children. */
  readonly children: ChildrenOptions | null;
}

const SWEEP_MS = 60_000;
const HEARTBEAT_MS = 2_000;
const WAIT_MS = 30_000;
const ALL = 1_000;

export class Fleet {
  readonly graphs: Graphs;
  readonly board: Board;
  readonly field: Stigmergy;
  readonly children: Children | null;
  readonly plans: Plans;
  readonly contracts: Contracts;
  readonly #options: FleetOptions;
  #timer: NodeJS.Timeout | undefined;
  #heart: NodeJS.Timeout | undefined;

  constructor(options: FleetOptions) {
    const { store, newId, halfLifeMs, instanceId, tickMs, onFailure } = options;
    this.#options = options;
    this.graphs = new Graphs({ store, newId });
    this.board = new Board(store.board);
    this.field = new Stigmergy(store.field, halfLifeMs);
    this.children = options.children && new Children(options.children);
    this.contracts = new Contracts({ store: store.contracts, newId, candidates: () => this.#candidates() });
    this.plans = new Plans({
      ...{ store, newId, instanceId, tickMs, onFailure, board: this.board, field: this.field },
      children: this.children && planChildren(this.children, store),
    });
  }

  /** Takes over the state of an earlier server, and starts monitoring. Never rejects. */
  async open(): Promise<void> {
    const { onFailure } = this.#options;
    const failed = (cause: unknown): void => onFailure('fleet', cause);
    await this.children?.open();
    await this.#beat().catch(failed);
    await this.#failInterrupted().catch(failed);
    // the children's keeper sends its own heartbeat
    if (this.children === null) this.#heart = setInterval(() => void this.#beat().catch(failed), HEARTBEAT_MS).unref();
    this.#timer = setInterval(() => {
      this.graphs.transactions.sweep().catch(failed);
      this.#failInterrupted().catch(failed);
    }, SWEEP_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    clearInterval(this.#heart);
    await this.plans.close();
    await this.children?.close();
  }

  async #beat(): Promise<void> {
    if (this.children !== null) return;
    const { store, instanceId, pid } = this.#options;
    await store.children.heartbeat({ instanceId, pid, url: '' });
  }

  /** Marks runs of ended servers as failed. Runs of other live servers continue. */
  async #failInterrupted(): Promise<void> {
    const { store, clock, instanceId } = this.#options;
    const stateOf = await serverStates(store.children, instanceId, clock.nowMs(), isThere);
    await this.plans.open((server) => stateOf(server).lives);
  }

  async #candidates() {
    const running = await this.#options.store.children.list({ state: 'running', limit: ALL });
    return running.map(({ childId, metadata, startedMs }) => ({ childId, metadata, sinceMs: startedMs }));
  }
}

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return errorCode(cause) === 'EPERM'; // the process exists but belongs to another user
  }
}

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
