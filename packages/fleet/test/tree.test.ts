import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMs } from '../../../test/helpers/cpu-time.ts';
import { type Running, running, type World } from '../src/plan/interpreter.ts';
import { priorityOf, StimulusQueue } from '../src/plan/scheduler.ts';
import { problemsOf, type Status, type TaskNode, type TreeNode } from '../src/plan/tree.ts';

interface Started {
  readonly tool: string;
  readonly signal: AbortSignal;
  readonly end: (succeeded: boolean) => void;
}

/** A world whose clock and tools are moved by hand; `ok` and `bad` end at once. */
class ManualWorld implements World {
  ms = 0;
  mayGo = true;
  readonly variables = new Map<string, unknown>();
  readonly started: Started[] = [];

  nowMs = () => this.ms;
  mayStart = () => this.mayGo;
  read = async (key: string) => this.variables.get(key);

  start = ({ tool }: TaskNode, signal: AbortSignal): Promise<boolean> =>
    new Promise((resolve) => {
      this.started.push({ tool, signal, end: resolve });
      if (tool === 'ok') resolve(true);
      if (tool === 'bad') resolve(false);
    });

  get tools(): string[] {
    return this.started.map(({ tool }) => tool);
  }
}

const task = (tool: string): TreeNode => ({ kind: 'task', node_id: tool, tool });

async function settle(run: Running): Promise<Status> {
  await new Promise((resolve) => setImmediate(resolve));
  return run.tick();
}

function runOf(root: TreeNode, world = new ManualWorld()) {
  return { run: running(root, world), world };
}

const leaf = fc.constantFrom(task('ok'), task('bad'));
const tree: fc.Arbitrary<TreeNode> = fc.letrec<{ node: TreeNode }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.record({
      kind: fc.constantFrom('sequence' as const, 'selector' as const),
      children: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('parallel' as const),
      policy: fc.constantFrom('all' as const, 'any' as const),
      children: fc.array(tie('node'), { minLength: 1, maxLength: 3 }),
    }),
    fc.record({
      kind: fc.constant('retry' as const),
      max_attempts: fc.integer({ min: 1, max: 3 }),
      child: tie('node'),
    }),
    fc.record({ kind: fc.constant('cancellable' as const), child: tie('node') }),
    fc.record({ kind: fc.constant('timeout' as const), timeout_ms: fc.constant(1000), child: tie('node') }),
  ),
})).node;

/** What a tree of tasks that end at once means, written down without ticks. */
function meaning(node: TreeNode): boolean {
  switch (node.kind) {
    case 'task':
      return node.tool === 'ok';
    case 'sequence':
      return node.children.every(meaning);
    case 'selector':
      return node.children.some(meaning);
    case 'parallel':
      return node.policy === 'all' ? node.children.every(meaning) : node.children.some(meaning);
    case 'retry':
    case 'timeout':
    case 'cancellable':
    case 'guard':
      return meaning(node.child);
  }
}

describe('a behaviour tree', () => {
  it('returns the outcome that follows from its nodes', async () => {
    await fc.assert(
      fc.asyncProperty(tree, async (root) => {
        const { run } = runOf(root);
        let status: Status = 'running';
        for (let ticks = 0; ticks < 500 && status === 'running'; ticks++) status = await run.tick();
        expect(status).toBe(meaning(root) ? 'success' : 'failure');
      }),
      { numRuns: 60 },
    );
  });

  it('runs a sequence in order and stops at the first failure', async () => {
    const { run, world } = runOf({ kind: 'sequence', children: [task('slow'), task('bad'), task('never')] });
    expect(await run.tick()).toBe('running');
    expect(await run.tick()).toBe('running');
    expect(world.tools).toEqual(['slow']);
    world.started[0]?.end(true);
    expect(await settle(run)).toBe('failure');
    expect(world.tools).toEqual(['slow', 'bad']);
  });

  it('aborts the other branches once one branch decides the outcome of a parallel node', async () => {
    const { run, world } = runOf({ kind: 'parallel', policy: 'any', children: [task('slow'), task('ok')] });
    expect(await settle(run)).toBe('success');
    expect(world.started[0]?.signal.aborted).toBe(true);
  });

  it('waits for the backoff between attempts, and gives up after the last attempt', async () => {
    const { run, world } = runOf({ kind: 'retry', max_attempts: 2, backoff_ms: 100, child: task('bad') });
    expect(await settle(run)).toBe('running');
    expect(run.dueMs()).toBe(100);
    world.ms = 99;
    expect(await settle(run)).toBe('running');
    expect(world.tools).toHaveLength(1);
    world.ms = 100;
    expect(await settle(run)).toBe('failure');
    expect(world.tools).toHaveLength(2);
  });

  it('aborts a child that exceeds its time limit, and fails', async () => {
    const { run, world } = runOf({ kind: 'timeout', timeout_ms: 50, child: task('slow') });
    expect(await run.tick()).toBe('running');
    expect(run.dueMs()).toBe(50);
    world.ms = 50;
    expect(await run.tick()).toBe('failure');
    expect(world.started[0]?.signal.aborted).toBe(true);
  });

  it('checks a guard for truthiness or equality, even while its child runs', async () => {
    const world = new ManualWorld();
    world.variables.set('go', { deep: [1] });
    const { run } = runOf({ kind: 'guard', condition_key: 'go', expected: { deep: [1] }, child: task('slow') }, world);
    expect(await run.tick()).toBe('running');
    world.variables.set('go', { deep: [2] });
    expect(await run.tick()).toBe('failure');
    expect(world.started[0]?.signal.aborted).toBe(true);
    const unset = runOf({ kind: 'guard', condition_key: 'nothing', child: task('ok') });
    expect(await unset.run.tick()).toBe('failure');
    expect(unset.world.tools).toEqual([]);
  });

  it('starts no task while starting tasks is not allowed', async () => {
    const { run, world } = runOf(task('ok'));
    world.mayGo = false;
    expect(await run.tick()).toBe('running');
    world.mayGo = true;
    expect(await settle(run)).toBe('success');
  });

  it('is refused if it is too large, too deep or calls a forbidden tool', () => {
    const wide: TreeNode = { kind: 'sequence', children: Array.from({ length: 500 }, () => task('ok')) };
    const deep = Array.from({ length: 32 }).reduce<TreeNode>((child) => ({ kind: 'cancellable', child }), task('ok'));
    const none = () => null;
    expect(problemsOf({ id: 't', root: wide }, none)).toEqual(['a tree has at most 500 nodes']);
    expect(problemsOf({ id: 't', root: deep }, none)).toEqual(['a tree is at most 32 levels deep']);
    expect(problemsOf({ id: 't', root: task('x') }, (tool) => `no ${tool}`)).toEqual(['task x: no x']);
  });

  it('does not block the event loop with five hundred nodes', async () => {
    const { run } = runOf({
      kind: 'parallel',
      policy: 'all',
      children: Array.from({ length: 499 }, () => task('slow')),
    });
    await run.tick();
    let least = Number.POSITIVE_INFINITY;
    for (let i = 0; i < 5; i++) {
      const startedAt = cpuMs();
      await run.tick();
      least = Math.min(least, cpuMs() - startedAt); // the collection of garbage counts as well
    }
    expect(least).toBeLessThan(40);
  });
});

describe('the queue of a reactive run', () => {
  const about = (
    stimulus: 'task_ready' | 'task_done' | 'blackboard' | 'pheromone',
    nodeId: string | null,
    atMs = 0,
  ) => ({
    stimulus,
    nodeId,
    atMs,
    attend: () => {},
  });

  it('orders entries by kind, then by pheromone, then by age', () => {
    const queue = new StimulusQueue();
    queue.add(about('pheromone', null));
    queue.add(about('blackboard', null));
    queue.add(about('task_ready', 'weak', 500));
    queue.add(about('task_ready', 'old', 0));
    queue.add(about('task_ready', 'marked', 500));
    queue.add(about('task_done', 'x'));
    const order: string[] = [];
    for (let next = queue.take(1000, (id) => (id === 'marked' ? 50 : 0)); next; next = queue.take(1000, () => 0)) {
      order.push(next.nodeId ?? next.stimulus);
    }
    expect(order).toEqual(['marked', 'old', 'weak', 'x', 'blackboard', 'pheromone']);
  });

  it('keeps task entries when other stimuli make it overflow', () => {
    const queue = new StimulusQueue();
    queue.add(about('task_ready', 'first'));
    queue.add(about('task_done', 'second'));
    for (let i = 0; i < 6_000; i++) queue.add(about('pheromone', null));
    expect(queue.size).toBe(5_000);
    expect([queue.take(0, () => 0)?.nodeId, queue.take(0, () => 0)?.nodeId]).toEqual(['first', 'second']);
  });

  it('raises the priority of waiting entries, so that none starves', () => {
    const waiting = about('pheromone', null, 0);
    expect(priorityOf(waiting, 0, 60_000)).toBeGreaterThan(priorityOf(about('task_ready', null, 60_000), 0, 60_000));
  });
});
