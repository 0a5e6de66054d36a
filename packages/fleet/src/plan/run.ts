import { setTimeout as sleep } from 'node:timers/promises';
import type { Board } from '../blackboard/board.ts';
import { Changes } from '../changes.ts';
import type { Stigmergy } from '../stigmergy/stigmergy.ts';
import { type Running, running, type World } from './interpreter.ts';
import { StimulusQueue } from './scheduler.ts';
import { nodesOf, type Status, type TaskNode, type Tree, type TreeNode, tasksOf } from './tree.ts';

interface Invocation {
  readonly node_id: string;
  readonly tool: string;
  readonly input: unknown;
  output: unknown;
  readonly executed: boolean;
  error?: string;
}

export interface PlanInput {
  readonly tree: Tree;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly dry_run: boolean;
  readonly timeout_ms?: number | undefined;
  readonly background: boolean;
  /** Only for reactive runs. */
  readonly tick_ms?: number | undefined;
  readonly budget_ms?: number | undefined;
}

interface PlanRunOptions {
  readonly mode: 'bt' | 'reactive';
  readonly input: PlanInput;
  readonly tickMs: number;
  readonly timeoutMs: number;
  readonly board: Board;
  readonly field: Stigmergy;
  readonly call: (tool: string, input: unknown, signal: AbortSignal) => Promise<unknown>;
  readonly onNode: (id: string, status: Status) => void;
}

export interface OutlineRow {
  /** Starts at 1. */
  readonly depth: number;
  readonly kind: string;
  /** Id of the node, or tool and node of a task; `''` for other nodes without id. */
  readonly name: string;
  /** `null` if not reached yet. */
  readonly status: Status | null;
}

type StopReason = 'cancelled' | 'timeout' | 'server_stopped';

interface PlanOutcome {
  readonly status: 'success' | 'failure';
  readonly ticks: number;
  readonly last_output: unknown;
  readonly invocations: readonly Invocation[];
  readonly loop_ticks?: number;
  readonly scheduler_ticks?: number;
  readonly duration_ms?: number;
}

const MAX_INVOCATIONS = 1_000;
const MAX_WAIT_MS = 300_000;
const BOARD_PREFIX = 'bb:';

/** One run of a tree, ticked on every wake-up until it ends or is stopped. */
export class PlanRun {
  readonly #statuses = new Map<TreeNode, Status>();
  readonly #options: PlanRunOptions;
  readonly #variables: Map<string, unknown>;
  readonly #tree: Running;
  readonly #wakes = new Changes();
  readonly #queue = new StimulusQueue();
  /** Ready tasks: queued, or due to start. */
  readonly #ready = new Map<TaskNode, 'queued' | 'due'>();
  readonly #stopping = new AbortController();
  readonly #invocations: Invocation[] = [];
  readonly #tasks: number;
  readonly #done = new Set<TaskNode>();
  readonly #startedAt = performance.now();
  #intensities: ReadonlyMap<string, number> = new Map();
  #stopped: StopReason | null = null;
  #words: string | null = null;
  #pausedAt: number | null = null;
  #pausedMs = 0;
  #isWoken = false;
  #lastOutput: unknown = null;
  #ticks = 0;
  #schedulerTicks = 0;

  constructor(options: PlanRunOptions) {
    this.#options = options;
    this.#variables = new Map(Object.entries(options.input.variables));
    this.#tree = running(options.input.tree.root, this.#world());
    this.#tasks = Math.max(1, tasksOf(options.input.tree.root).length);
  }

  /** Percentage of finished tasks, 0 to 100. */
  get progress(): number {
    return Math.min(100, Math.floor((this.#done.size / this.#tasks) * 100));
  }

  get stopped(): StopReason | null {
    return this.#stopped;
  }

  /** Prevents new tasks from starting; running tasks continue. */
  pause(): void {
    this.#pausedAt ??= performance.now();
  }

  resume(): void {
    if (this.#pausedAt !== null) this.#pausedMs += performance.now() - this.#pausedAt;
    this.#pausedAt = null;
    this.#wake();
  }

  get words(): string | null {
    return this.#words;
  }

  /** Stops the run. Only the first call sets the reason. */
  stop(reason: StopReason, words: string | null = null): void {
    if (this.#stopped === null) this.#words = words;
    this.#stopped ??= reason;
    this.#stopping.abort();
    this.#wake();
  }

  /** @throws Error if the run was stopped; see `stopped` */
  async go(): Promise<PlanOutcome> {
    const isReactive = this.#options.mode === 'reactive';
    const forget = [
      this.#options.board.changes.on(() => this.#stimulated('blackboard')),
      ...(isReactive ? [this.#options.field.changes.on(() => this.#stimulated('pheromone'))] : []),
    ];
    try {
      const status = await this.#loop();
      return {
        status,
        ticks: this.#ticks,
        last_output: this.#lastOutput,
        invocations: this.#invocations,
        ...(isReactive && {
          loop_ticks: this.#ticks,
          scheduler_ticks: this.#schedulerTicks,
          duration_ms: Math.round(performance.now() - this.#startedAt),
        }),
      };
    } finally {
      for (const done of forget) done();
      this.#tree.halt();
    }
  }

  async #loop(): Promise<'success' | 'failure'> {
    for (;;) {
      if (this.#nowMs() > this.#options.timeoutMs) this.stop('timeout');
      if (this.#stopped !== null) throw new Error(this.#stopped);
      this.#isWoken = false;
      this.#ticks++;
      const status = await this.#tree.tick();
      if (status !== 'running') return status;
      if (this.#options.mode === 'reactive') await this.#attend();
      if (this.#isWoken) continue;
      const due = Math.min(this.#tree.dueMs() - this.#nowMs(), this.#options.timeoutMs - this.#nowMs() + 1);
      const pauseMs = this.#pausedAt === null ? Math.max(0, Math.min(due, this.#options.tickMs)) : this.#options.tickMs;
      await this.#wakes.next(pauseMs, this.#stopping.signal);
    }
  }

  /** Handles queued stimuli, most urgent first, within the budget of one round. */
  async #attend(): Promise<void> {
    const budgetMs = this.#options.input.budget_ms ?? this.#options.tickMs;
    const endAt = performance.now() + budgetMs;
    if (this.#queue.size > 0) this.#intensities = await this.#options.field.totals();
    while (this.#queue.size > 0 && performance.now() < endAt) {
      const queued = this.#queue.take(performance.now(), (id) => this.#intensities.get(id) ?? 0);
      this.#schedulerTicks++;
      queued?.attend();
    }
    if (this.#queue.size > 0) this.#wake();
  }

  #world(): World {
    return {
      nowMs: () => this.#nowMs(),
      read: (key) =>
        key.startsWith(BOARD_PREFIX)
          ? this.#options.board.value(key.slice(BOARD_PREFIX.length))
          : Promise.resolve(this.#variables.get(key)),
      mayStart: (task) => this.#mayStart(task),
      start: (task, signal) => this.#start(task, AbortSignal.any([signal, this.#stopping.signal])),
      onStatus: (node, status) => {
        this.#statuses.set(node, status);
        if (node.id !== undefined) this.#options.onNode(node.id, status);
      },
    };
  }

  /** Nodes of the tree in document order, with their status. */
  outline(): readonly OutlineRow[] {
    return Array.from(nodesOf(this.#options.input.tree.root), ({ node, depth }) => ({
      ...{ depth, kind: node.kind, status: this.#statuses.get(node) ?? null },
      name: node.id ?? (node.kind === 'task' ? `${node.tool} ${node.node_id}` : ''),
    }));
  }

  #mayStart(task: TaskNode): boolean {
    if (this.#pausedAt !== null || this.#stopped !== null) return false;
    if (this.#options.mode === 'bt') return true;
    const state = this.#ready.get(task);
    if (state === 'due') {
      this.#ready.delete(task);
      return true;
    }
    if (state === undefined) {
      this.#ready.set(task, 'queued');
      const attend = (): void => {
        this.#ready.set(task, 'due');
        this.#wake();
      };
      this.#queue.add({ stimulus: 'task_ready', nodeId: task.node_id, atMs: performance.now(), attend });
    }
    return false;
  }

  async #start(task: TaskNode, signal: AbortSignal): Promise<boolean> {
    const { node_id, tool, input_key, output_key } = task;
    const { dry_run } = this.#options.input;
    const input = input_key === undefined ? (task.input ?? {}) : (this.#variables.get(input_key) ?? null);
    const invocation: Invocation = { node_id, tool, input, output: null, executed: !dry_run };
    if (this.#invocations.length < MAX_INVOCATIONS) this.#invocations.push(invocation);
    let isSuccess = true;
    if (!dry_run) {
      try {
        const output = await this.#run(tool, input, signal);
        invocation.output = output;
        this.#lastOutput = output;
        if (output_key !== undefined) this.#variables.set(output_key, output);
      } catch (cause) {
        isSuccess = false;
        invocation.error = cause instanceof Error ? cause.message.slice(0, 300) : 'failed';
        if (cause instanceof Error && 'output' in cause) {
          invocation.output = cause.output;
          if (output_key !== undefined) this.#variables.set(output_key, cause.output);
        }
      }
    }
    this.#done.add(task);
    this.#stimulated('task_done', node_id);
    return isSuccess;
  }

  async #run(tool: string, input: unknown, signal: AbortSignal): Promise<unknown> {
    if (tool === 'noop') return input;
    if (tool === 'wait') return wait(input, signal);
    return this.#options.call(tool, input, signal);
  }

  #stimulated(stimulus: 'task_done' | 'blackboard' | 'pheromone', nodeId: string | null = null): void {
    if (this.#options.mode === 'reactive') {
      this.#queue.add({ stimulus, nodeId, atMs: performance.now(), attend: () => {} });
    }
    // the tick must follow the microtasks of a task that has just settled
    setImmediate(() => this.#wake());
  }

  #wake(): void {
    this.#isWoken = true;
    this.#wakes.notify();
  }

  /** Milliseconds since the start, without pauses. */
  #nowMs(): number {
    const pausedNow = this.#pausedAt === null ? 0 : performance.now() - this.#pausedAt;
    return performance.now() - this.#startedAt - this.#pausedMs - pausedNow;
  }
}

/** The built-in `wait` task. */
function wait(input: unknown, signal: AbortSignal): Promise<unknown> {
  const waitMs = typeof input === 'object' && input !== null && 'ms' in input ? Number(input.ms) : Number.NaN;
  if (!(waitMs >= 0 && waitMs <= MAX_WAIT_MS))
    return Promise.reject(new Error(`wait takes ms from 0 to ${MAX_WAIT_MS}`));
  return sleep(waitMs, input, { signal }).catch(() => Promise.reject(new Error('aborted'))); // only an abort ends it early
}
