import { isDeepStrictEqual } from 'node:util';
import type { Status, TaskNode, TreeNode } from './tree.ts';

export interface World {
  /** Milliseconds of a monotonic clock that stops while the run is paused. */
  nowMs(): number;
  read(key: string): Promise<unknown>;
  /**
   * Starts a task.
   *
   * @param signal - aborted when the outcome is no longer needed
   * @returns whether it succeeded; never rejects
   */
  start(task: TaskNode, signal: AbortSignal): Promise<boolean>;
  /** Whether a task may start now; postponed tasks are retried at the next tick. */
  mayStart(task: TaskNode): boolean;
  /** Called when a node with an id changes its status. */
  onStatus?(node: TreeNode, status: Status): void;
}

/** A running tree or subtree. It is passive: each tick advances it as far as possible. */
export interface Running {
  tick(): Promise<Status>;
  halt(): void;
  /** Time (`World.nowMs`) at which a tick is needed at the latest; infinity if never. */
  dueMs(): number;
}

/** Prepares a tree for ticking from its root. Ticking stops at its first outcome. */
export function running(node: TreeNode, world: World): Running {
  const made = make(node, world);
  let last: Status | null = null;
  const tick = async (): Promise<Status> => {
    const status = await made.tick();
    if (status !== last) world.onStatus?.(node, status);
    last = status;
    return status;
  };
  return { tick, halt: () => made.halt(), dueMs: () => made.dueMs() };
}

function make(node: TreeNode, world: World): Running {
  switch (node.kind) {
    case 'sequence':
      return inOrder(node.children, world, 'failure');
    case 'selector':
      return inOrder(node.children, world, 'success');
    case 'parallel':
      return sideBySide(node.children, world, node.policy);
    case 'retry':
      return retried(node, world);
    case 'timeout':
      return timed(node, world);
    case 'guard':
      return guarded(node, world);
    case 'cancellable':
      return running(node.child, world);
    case 'task':
      return task(node, world);
  }
}

/** Runs children sequentially until one ends with `decisive`; otherwise the result is the opposite status. */
function inOrder(nodes: readonly TreeNode[], world: World, decisive: Status): Running {
  const children = nodes.map((node) => running(node, world));
  let at = 0;
  return {
    async tick() {
      for (let child = children[at]; child !== undefined; child = children[at]) {
        const status = await child.tick();
        if (status === 'running' || status === decisive) return status;
        at++;
      }
      return decisive === 'failure' ? 'success' : 'failure';
    },
    halt: () => children[at]?.halt(),
    dueMs: () => children[at]?.dueMs() ?? Number.POSITIVE_INFINITY,
  };
}

function sideBySide(nodes: readonly TreeNode[], world: World, policy: 'all' | 'any'): Running {
  const children = nodes.map((node) => running(node, world));
  const ended = new Map<Running, Status>();
  const open = (): Running[] => children.filter((child) => !ended.has(child));
  const halt = (): void => {
    for (const child of open()) child.halt();
  };
  // `all` fails at the first failure, `any` succeeds at the first success
  const decisive: Status = policy === 'all' ? 'failure' : 'success';
  return {
    async tick() {
      for (const child of open()) {
        const status = await child.tick();
        if (status === 'running') continue;
        ended.set(child, status);
        if (status !== decisive) continue;
        halt();
        return decisive;
      }
      if (ended.size < children.length) return 'running';
      return policy === 'all' ? 'success' : 'failure';
    },
    halt,
    dueMs: () => Math.min(...open().map((child) => child.dueMs())),
  };
}

function retried(node: Extract<TreeNode, { kind: 'retry' }>, world: World): Running {
  let attempt = 1;
  let child = running(node.child, world);
  let waitUntilMs: number | null = null;
  return {
    async tick() {
      if (waitUntilMs !== null && world.nowMs() < waitUntilMs) return 'running';
      waitUntilMs = null;
      const status = await child.tick();
      if (status !== 'failure' || attempt >= node.max_attempts) return status;
      attempt++;
      child = running(node.child, world);
      waitUntilMs = world.nowMs() + (node.backoff_ms ?? 0);
      return 'running';
    },
    halt: () => child.halt(),
    dueMs: () => waitUntilMs ?? child.dueMs(),
  };
}

function timed(node: Extract<TreeNode, { kind: 'timeout' }>, world: World): Running {
  const child = running(node.child, world);
  let endMs: number | null = null;
  return {
    async tick() {
      endMs ??= world.nowMs() + node.timeout_ms;
      const status = await child.tick();
      if (status !== 'running' || world.nowMs() < endMs) return status;
      child.halt();
      return 'failure';
    },
    halt: () => child.halt(),
    dueMs: () => Math.min(endMs ?? Number.POSITIVE_INFINITY, child.dueMs()),
  };
}

function guarded(node: Extract<TreeNode, { kind: 'guard' }>, world: World): Running {
  const child = running(node.child, world);
  return {
    async tick() {
      const value = await world.read(node.condition_key);
      const holds = node.expected === undefined ? Boolean(value) : isDeepStrictEqual(value, node.expected);
      if (holds) return child.tick();
      child.halt();
      return 'failure';
    },
    halt: () => child.halt(),
    dueMs: () => child.dueMs(),
  };
}

function task(node: TaskNode, world: World): Running {
  const controller = new AbortController();
  let status: Status | null = null;
  let isHalted = false;
  return {
    async tick() {
      if (isHalted) return 'failure';
      if (status === null) {
        if (!world.mayStart(node)) return 'running';
        status = 'running';
        void world.start(node, controller.signal).then((succeeded) => {
          status = succeeded ? 'success' : 'failure';
        });
        // lets a task that completes immediately, such as noop, finish without another tick
        await Promise.resolve();
        await Promise.resolve();
      }
      return status;
    },
    halt() {
      isHalted = true;
      controller.abort();
    },
    dueMs: () => Number.POSITIVE_INFINITY,
  };
}
