import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Board } from '../blackboard/board.ts';
import { FleetError } from '../errors.ts';
import { type Caller, correlationOf, eventOf, type Hints, type PlanRecord, type PlanState } from '../ports.ts';
import type { Stigmergy } from '../stigmergy/stigmergy.ts';
import type { FleetStore } from '../tables/fleet-store.ts';
import { type OutlineRow, type PlanInput, PlanRun } from './run.ts';
import { problemsOf, type Tree, tasksOf } from './tree.ts';

export interface PlanTools {
  /** Why a tool cannot be called, or `null`. */
  refusal(tool: string): string | null;
  /** Calls a tool. @returns its answer; throws its error */
  call(tool: string, input: unknown, signal: AbortSignal): Promise<unknown>;
}

export interface PlanChildren {
  /** Starts a child and waits for its end. @returns its manifest */
  run(
    input: unknown,
    hints: Hints,
    signal: AbortSignal,
  ): Promise<{ readonly exit_code: number | null; readonly child_id: string }>;
  cancelOf(runId: string): Promise<void>;
}

interface PlansOptions {
  readonly onFailure: FailureReporter;
  readonly store: FleetStore;
  readonly board: Board;
  readonly field: Stigmergy;
  readonly children: PlanChildren | null;
  readonly newId: () => string;
  readonly instanceId: string;
  readonly tickMs: number;
}

const MAX_RUNNING = 16;
const KEPT_RUNS = 1_000;
const DEFAULT_TIMEOUT_MS = { bt: 60_000, reactive: 300_000 } as const;
const OWN_TASKS: ReadonlySet<string> = new Set(['noop', 'wait', 'child_run']);

interface LiveRun {
  readonly run: PlanRun;
  record: PlanRecord;
  readonly hints: Hints;
  readonly ended: Promise<object>;
}

export class Plans {
  readonly #options: PlansOptions;
  readonly #live = new Map<string, LiveRun>();

  constructor(options: PlansOptions) {
    this.#options = options;
  }

  /** Marks runs of ended servers as failed. */
  async open(isAlive: (instanceId: string) => boolean): Promise<void> {
    const { store, instanceId } = this.#options;
    for (const record of await store.plans.open()) {
      if (record.instanceId === instanceId || isAlive(record.instanceId)) continue;
      await this.#finish(record, {}, 'failed', 'server_stopped', record.result);
    }
  }

  async close(): Promise<void> {
    const running = [...this.#live.values()];
    for (const { run } of running) run.stop('server_stopped');
    await Promise.allSettled(running.map(({ ended }) => ended));
  }

  dryRun(tree: Tree, variables: Readonly<Record<string, unknown>>, tools: PlanTools) {
    const problems = problemsOf(tree, (tool) => refusalOf(tool, tools, this.#options.children));
    const tasks = tasksOf(tree.root).map(({ node_id, tool, input, input_key }) => ({
      node_id,
      tool,
      input: input_key === undefined ? (input ?? {}) : (variables[input_key] ?? null),
    }));
    return { valid: problems.length === 0, tasks, problems };
  }

  /** Starts a run. Waits for its end unless it runs in the background. */
  async run(
    mode: 'bt' | 'reactive',
    input: PlanInput,
    hints: Hints,
    caller: Caller,
    tools: PlanTools,
  ): Promise<object> {
    const problems = problemsOf(input.tree, (tool) => refusalOf(tool, tools, this.#options.children));
    if (problems.length > 0) throw new FleetError('E-BT-INVALID', { problems: problems.slice(0, 20) });
    if (this.#live.size >= MAX_RUNNING)
      throw new FleetError('E-FLEET-BOUND', { bound: 'plans at once', allowed: MAX_RUNNING });
    const { store, newId, instanceId, tickMs } = this.#options;
    const runId = hints.run_id ?? newId();
    const opId = hints.op_id ?? newId();
    const full = { ...hints, run_id: runId, op_id: opId };
    const about = correlationOf(full, caller);
    const record = await store.plans.begin(
      {
        ...{ runId, opId, mode, state: 'running', progress: 0, finishedMs: null, pausedMs: null },
        ...{ dryRun: input.dry_run, reason: null, result: null, instanceId },
      },
      [eventOf('plan_started', about, { mode, dry_run: input.dry_run })],
    );
    if (record === null) throw new FleetError('E-PLAN-STATE', { run_id: runId, state: 'running' });
    const run = new PlanRun({
      mode,
      input,
      tickMs: mode === 'bt' ? tickMs : (input.tick_ms ?? 100),
      timeoutMs: input.timeout_ms ?? DEFAULT_TIMEOUT_MS[mode],
      board: this.#options.board,
      field: this.#options.field,
      call: (tool, args, signal) => this.#call(tool, args, full, tools, signal),
      onNode: (id, status) => {
        void store
          .record([eventOf('plan_node', about, { node: id, status }, 'debug')])
          .catch((cause: unknown) => this.#options.onFailure('plan_node', cause));
      },
    });
    const ended = this.#follow(run, record, full);
    this.#live.set(runId, { run, record, hints: full, ended });
    const shownHints = {
      ...{ run_id: runId, op_id: opId, job_id: about.jobId, graph_id: about.graphId },
      ...{ node_id: about.nodeId, child_id: about.childId },
    };
    if (input.background) {
      ended.catch(() => undefined); // failures are reported by plan_status
      return { status: 'running', state: 'running', ticks: 0, last_output: null, invocations: [], ...shownHints };
    }
    return { ...(await ended), ...shownHints };
  }

  async status(runId: string) {
    const live = this.#live.get(runId);
    const record = live?.record ?? (await this.#options.store.plans.get(runId));
    if (record === null) throw new FleetError('E-PLAN-NOT-FOUND', { run_id: runId });
    const progress = live ? live.run.progress : record.progress;
    return {
      run_id: record.runId,
      op_id: record.opId,
      mode: record.mode,
      state: record.state,
      progress,
      started_at: record.startedMs,
      updated_at: record.updatedMs,
      finished_at: record.finishedMs,
      paused_at: record.pausedMs,
      dry_run: record.dryRun,
      reason: record.reason ?? undefined,
      result: record.result ?? undefined,
    };
  }

  /** The tree of a run in this process; empty for all others. */
  outline(runId: string): readonly OutlineRow[] {
    return this.#live.get(runId)?.run.outline() ?? [];
  }

  async pause(runId: string) {
    await this.#switch(runId, 'running', 'paused');
    return this.status(runId);
  }

  async resume(runId: string) {
    await this.#switch(runId, 'paused', 'running');
    return this.status(runId);
  }

  /** @param why - the caller's words, reported by `status` */
  async cancelRun(runId: string, why?: string) {
    const record = this.#live.get(runId)?.record ?? (await this.#options.store.plans.get(runId));
    return { run_id: runId, ...(await this.#cancel(record === null ? [] : [record], why)) };
  }

  async cancelOperation(opId: string, why?: string) {
    const open = [...this.#live.values()].map(({ record }) => record).filter((record) => record.opId === opId);
    const last = open.length > 0 ? null : await this.#options.store.plans.byOperation(opId);
    return { op_id: opId, ...(await this.#cancel(last === null ? open : [last], why)) };
  }

  async #cancel(records: readonly PlanRecord[], why: string | undefined) {
    const live = records.flatMap(({ runId }) => this.#live.get(runId) ?? []);
    const operations = records.map(({ opId, runId }) => ({ op_id: opId, run_id: runId }));
    if (live.length === 0) {
      const isCancelled = records.some(({ state }) => state === 'cancelled');
      return { outcome: isCancelled ? ('already_cancelled' as const) : ('not_found' as const) };
    }
    const isAgain = live.every(({ run }) => run.stopped !== null);
    for (const { run } of live) run.stop('cancelled', why);
    return { outcome: isAgain ? ('already_cancelled' as const) : ('requested' as const), operations };
  }

  async #switch(runId: string, from: PlanState, to: 'paused' | 'running'): Promise<void> {
    const live = this.#live.get(runId);
    if (!live) {
      const { state } = await this.status(runId);
      throw new FleetError('E-PLAN-STATE', { run_id: runId, state });
    }
    if (live.record.state === to) return;
    if (live.record.state !== from) throw new FleetError('E-PLAN-STATE', { run_id: runId, state: live.record.state });
    if (to === 'paused') live.run.pause();
    else live.run.resume();
    const pausedMs = to === 'paused' ? await this.#nowMs(live.record) : null;
    live.record = { ...live.record, state: to, pausedMs, progress: live.run.progress };
    const kind = to === 'paused' ? 'plan_paused' : 'plan_resumed';
    await this.#options.store.plans.save(live.record, [eventOf(kind, correlationOf(live.hints), {})], KEPT_RUNS);
    live.record = (await this.#options.store.plans.get(runId)) ?? live.record;
  }

  /** Current time of the store's clock, obtained by writing the run again. */
  async #nowMs(record: PlanRecord): Promise<number> {
    await this.#options.store.plans.save(record, [], KEPT_RUNS);
    return (await this.#options.store.plans.get(record.runId))?.updatedMs ?? record.updatedMs;
  }

  async #follow(run: PlanRun, record: PlanRecord, hints: Hints): Promise<object> {
    try {
      const outcome = await run.go();
      const state = outcome.status === 'success' ? 'done' : 'failed';
      await this.#finish(this.#live.get(record.runId)?.record ?? record, hints, state, null, outcome);
      return outcome;
    } catch (cause) {
      const why = run.stopped ?? 'failed';
      const state = why === 'cancelled' ? 'cancelled' : 'failed';
      if (why !== 'failed')
        await this.#options.children
          ?.cancelOf(record.runId)
          .catch((later: unknown) => this.#options.onFailure('plan_cancel', later));
      await this.#finish(this.#live.get(record.runId)?.record ?? record, hints, state, why, null, run.words).catch(
        (later: unknown) => this.#options.onFailure('plan_end', later),
      );
      if (why === 'cancelled') throw new FleetError('E-PLAN-CANCELLED', { run_id: record.runId, op_id: record.opId });
      if (why === 'timeout') throw new FleetError('E-BT-RUN-TIMEOUT', { run_id: record.runId, op_id: record.opId });
      throw cause;
    } finally {
      this.#live.delete(record.runId);
    }
  }

  async #finish(
    record: PlanRecord,
    hints: Hints,
    state: PlanState,
    reason: string | null,
    result: unknown,
    words: string | null = null,
  ): Promise<void> {
    const { store } = this.#options;
    const progress = state === 'done' ? 100 : record.progress;
    const finishedMs = await this.#nowMs(record);
    const about = { ...correlationOf(hints), runId: record.runId, opId: record.opId };
    // the caller's words appear only in `status`, never in events
    const ended = { ...record, state, reason: words ?? reason, result, progress, finishedMs, pausedMs: null };
    await store.plans.save(ended, [eventOf('plan_ended', about, { state, reason })], KEPT_RUNS);
  }

  async #call(tool: string, input: unknown, hints: Hints, tools: PlanTools, signal: AbortSignal): Promise<unknown> {
    if (tool !== 'child_run') return tools.call(tool, input, signal);
    const { children } = this.#options;
    if (children === null) throw new Error('this server starts no children');
    const ended = await children.run(input, hints, signal);
    if (ended.exit_code !== 0) throw new TaskFailed(ended);
    return ended;
  }
}

class TaskFailed extends Error {
  readonly output: unknown;

  constructor(output: unknown) {
    super('the task failed');
    this.output = output;
  }
}

function refusalOf(tool: string, tools: PlanTools, children: PlanChildren | null): string | null {
  if (tool === 'child_run' && (children === null || tools.refusal('child_create') !== null)) {
    return tools.refusal('child_create') ?? 'children are switched off';
  }
  if (OWN_TASKS.has(tool)) return null;
  if (tool.startsWith('plan_') || tool === 'op_cancel') return `${tool} cannot be called by a plan`;
  return tools.refusal(tool);
}
