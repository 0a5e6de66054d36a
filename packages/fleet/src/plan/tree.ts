export type Status = 'success' | 'failure' | 'running';

interface Named<Kind extends string> {
  readonly kind: Kind;
  readonly id?: string | undefined;
}

interface Branch {
  readonly children: readonly TreeNode[];
}

interface Wrapper {
  readonly child: TreeNode;
}

export interface TaskNode extends Named<'task'> {
  /** Task graph node (or any name) to which the work is attributed. */
  readonly node_id: string;
  readonly tool: string;
  /** Variable with the input. */
  readonly input_key?: string | undefined;
  readonly input?: unknown;
  /** Variable that receives the output. */
  readonly output_key?: string | undefined;
}

export type TreeNode =
  | (Named<'sequence' | 'selector'> & Branch)
  | (Named<'parallel'> & Branch & { readonly policy: 'all' | 'any' })
  | (Named<'retry'> & Wrapper & { readonly max_attempts: number; readonly backoff_ms?: number | undefined })
  | (Named<'timeout'> & Wrapper & { readonly timeout_ms: number })
  | (Named<'guard'> & Wrapper & { readonly condition_key: string; readonly expected?: unknown })
  | (Named<'cancellable'> & Wrapper)
  | TaskNode;

export interface Tree {
  readonly id: string;
  readonly root: TreeNode;
}

const MAX_TREE_NODES = 500;
const MAX_TREE_DEPTH = 32;

/** A tree's nodes in document order, each with its depth from 1. */
export function* nodesOf(root: TreeNode): Generator<{ readonly node: TreeNode; readonly depth: number }> {
  const waiting = [{ node: root, depth: 1 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    const { node, depth } = next;
    const children = 'children' in node ? node.children : 'child' in node ? [node.child] : [];
    for (const child of [...children].reverse()) waiting.push({ node: child, depth: depth + 1 });
  }
}

export function tasksOf(root: TreeNode): TaskNode[] {
  return [...nodesOf(root)].flatMap(({ node }) => (node.kind === 'task' ? node : []));
}

/**
 * Validates a tree: problems, one line each; empty if valid.
 *
 * @param refusal - returns why a tool cannot be called, or `null`
 */
export function problemsOf({ root }: Tree, refusal: (tool: string) => string | null): string[] {
  const problems: string[] = [];
  let count = 0;
  let deepest = 0;
  for (const { node, depth } of nodesOf(root)) {
    count++;
    deepest = Math.max(deepest, depth);
    if (count > MAX_TREE_NODES) break;
    if (node.kind !== 'task') continue;
    const refused = refusal(node.tool);
    if (refused !== null) problems.push(`task ${node.node_id}: ${refused}`);
    if (node.input !== undefined && node.input_key !== undefined) {
      problems.push(`task ${node.node_id}: input and input_key exclude each other`);
    }
  }
  if (count > MAX_TREE_NODES) problems.unshift(`a tree has at most ${MAX_TREE_NODES} nodes`);
  if (deepest > MAX_TREE_DEPTH) problems.unshift(`a tree is at most ${MAX_TREE_DEPTH} levels deep`);
  return problems;
}
