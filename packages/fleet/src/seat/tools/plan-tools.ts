import { defineTool, type Tool, type ToolContext } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import { announcementFields, type Contracts } from '../../contract-net/contracts.ts';
import { hintFields, id } from '../../graph/input.ts';
import type { Plans, PlanTools } from '../../plan/plans.ts';
import type { PlanInput } from '../../plan/run.ts';
import type { TreeNode } from '../../plan/tree.ts';
import type { Hints } from '../../ports.ts';
import { ADDS, callerOf, ENDS, READS, SETS, STARTS } from './inputs.ts';

const family = { namespace: 'plan', faces: ['rpc'] as const };
const NODES =
  'Nodes: sequence, selector {children}, parallel {policy: all|any, children}, retry {max_attempts, backoff_ms, child}, ' +
  'timeout {timeout_ms, child}, guard {condition_key (bb:<key> reads the blackboard), expected, child}, cancellable {child}, ' +
  'task {node_id, tool, input | input_key, output_key}; tools of this server, noop, wait {ms}, child_run (child_create, waited for).';

const nodeId = { id: id.optional() };
const node: z.ZodType<TreeNode> = z.lazy(() =>
  z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('sequence'), ...nodeId, children: z.array(node).min(1).max(500) }),
    z.strictObject({ kind: z.literal('selector'), ...nodeId, children: z.array(node).min(1).max(500) }),
    z.strictObject({
      kind: z.literal('parallel'),
      ...nodeId,
      policy: z.enum(['all', 'any']),
      children: z.array(node).min(1).max(500),
    }),
    z.strictObject({
      kind: z.literal('retry'),
      ...nodeId,
      max_attempts: z.int().min(1).max(1000),
      backoff_ms: z.int().min(0).max(300_000).optional(),
      child: node,
    }),
    z.strictObject({ kind: z.literal('timeout'), ...nodeId, timeout_ms: z.int().min(1).max(300_000), child: node }),
    z.strictObject({
      kind: z.literal('guard'),
      ...nodeId,
      condition_key: z.string().min(1).max(300),
      expected: z.unknown().optional(),
      child: node,
    }),
    z.strictObject({ kind: z.literal('cancellable'), ...nodeId, child: node }),
    z.strictObject({
      kind: z.literal('task'),
      ...nodeId,
      node_id: id,
      tool: z.string().min(1).max(200),
      input_key: z.string().min(1).max(200).optional(),
      input: z.unknown().optional(),
      output_key: z.string().min(1).max(200).optional(),
    }),
  ]),
);
const MAX_NESTING = 80;
const tree = z.strictObject({
  id,
  root: z.preprocess((value, context) => {
    if (!isDeeper(value, MAX_NESTING)) return value;
    context.addIssue({ code: 'custom', message: 'a tree is at most 32 levels deep' });
    return z.NEVER;
  }, node),
});

function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return levels === 0 || Object.values(value).some((part) => isDeeper(part, levels - 1));
}

const variables = z.record(z.string().max(200), z.unknown()).default({});

const run = {
  tree,
  variables,
  dry_run: z.boolean().default(false),
  background: z.boolean().default(false),
  ...hintFields,
};

/** @param toolsFor - returns the tools that a plan may call on behalf of a caller */
export function planTools(plans: Plans, toolsFor: (context: ToolContext) => PlanTools): Tool[] {
  return [...runTools(plans, toolsFor), ...lifecycleTools(plans, toolsFor), ...cancellationTools(plans)];
}

function runTools(plans: Plans, toolsFor: (context: ToolContext) => PlanTools): Tool[] {
  const start = (mode: 'bt' | 'reactive', input: PlanInput & Hints, context: ToolContext): Promise<object> => {
    const { run_id, op_id, job_id, graph_id, node_id, child_id, ...planned } = input;
    const hints = { run_id, op_id, job_id, graph_id, node_id, child_id };
    return plans.run(mode, planned, hints, callerOf(context), toolsFor(context));
  };
  return [
    defineTool({
      ...family,
      name: 'plan_run_bt',
      annotations: STARTS,
      flag: '--enable-bt',
      summary: 'Run a behaviour tree.',
      description: `Run a behaviour tree over the tools of this server to its end, or in the background. ${NODES} Returns JSON: status, ticks, last_output, invocations, run_id.`,
      input: z.strictObject({ ...run, timeout_ms: z.int().min(1).max(60_000).optional() }),
      run: (input, context) => start('bt', input, context),
    }),
    defineTool({
      ...family,
      name: 'plan_run_reactive',
      annotations: STARTS,
      flag: '--enable-reactive-scheduler',
      summary: 'Run a behaviour tree that reacts to the blackboard and to pheromones.',
      description: `As plan_run_bt, ticked every tick_ms and woken by changes of the blackboard and of pheromones; ready tasks start by priority, those at marked nodes first. ${NODES}`,
      input: z.strictObject({
        ...run,
        tick_ms: z.int().min(10).max(5_000).default(100),
        budget_ms: z.int().min(1).max(5_000).optional(),
        timeout_ms: z.int().min(1).max(300_000).optional(),
      }),
      run: (input, context) => start('reactive', input, context),
    }),
  ];
}

function lifecycleTools(plans: Plans, toolsFor: (context: ToolContext) => PlanTools): Tool[] {
  const lifecycle = { ...family, flag: '--enable-plan-lifecycle' };
  const byRun = z.strictObject({ run_id: id });
  return [
    defineTool({
      ...lifecycle,
      name: 'plan_status',
      annotations: READS,
      summary: 'Show the state of a run.',
      description: 'The state of a run: state, progress, and its result once it has ended.',
      input: byRun,
      run: ({ run_id }) => plans.status(run_id),
    }),
    defineTool({
      ...lifecycle,
      name: 'plan_pause',
      annotations: SETS,
      summary: 'Pause a run.',
      description: 'Start no new task of a run; those under way continue.',
      input: byRun,
      run: ({ run_id }) => plans.pause(run_id),
    }),
    defineTool({
      ...lifecycle,
      name: 'plan_resume',
      annotations: SETS,
      summary: 'Resume a paused run.',
      description: 'Continue a paused run.',
      input: byRun,
      run: ({ run_id }) => plans.resume(run_id),
    }),
    defineTool({
      ...lifecycle,
      name: 'plan_dry_run',
      annotations: READS,
      summary: 'Check a tree without running it.',
      description: `Check a tree and list its tasks without calling anything. ${NODES}`,
      input: z.strictObject({ tree, variables }),
      run: ({ tree: planned, variables: given }, context) => plans.dryRun(planned, given, toolsFor(context)),
    }),
  ];
}

function cancellationTools(plans: Plans): Tool[] {
  const cancellation = { ...family, flag: '--enable-cancellation' };
  const reason = z.string().min(1).max(200).optional();
  return [
    defineTool({
      ...cancellation,
      name: 'op_cancel',
      annotations: ENDS,
      summary: 'Cancel an operation.',
      description: 'Cancel the runs of an operation, and the children they started.',
      input: z.strictObject({ op_id: id, reason }),
      run: ({ op_id, reason: why }) => plans.cancelOperation(op_id, why),
    }),
    defineTool({
      ...cancellation,
      name: 'plan_cancel',
      annotations: ENDS,
      summary: 'Cancel a run.',
      description:
        'Cancel a run, and the children it started; its own call ends with E-PLAN-CANCELLED. plan_status shows the reason.',
      input: z.strictObject({ run_id: id, reason }),
      run: ({ run_id, reason: why }) => plans.cancelRun(run_id, why),
    }),
  ];
}

export function contractTools(contracts: Contracts): Tool[] {
  const net = { namespace: 'contract_net', faces: ['rpc'] as const, flag: '--enable-cnp' };
  return [
    defineTool({
      ...net,
      name: 'cnp_announce',
      annotations: ADDS,
      summary: 'Give a task to the agent with the lowest cost.',
      description:
        'Announce a task and award it at once to the least cost: running children bid by themselves (auto_bid), manual_bids ' +
        'name others. Open awards raise the cost of an agent (busy_penalty). Returns JSON: call_id, awarded_agent_id, bids.',
      input: z.strictObject({ ...announcementFields, ...hintFields }),
      run({ run_id, op_id, job_id, graph_id, node_id, child_id, ...announcement }, context) {
        const hints = { run_id, op_id, job_id, graph_id, node_id, child_id };
        return contracts.announce(announcement, hints, callerOf(context));
      },
    }),
    defineTool({
      ...net,
      name: 'cnp_complete',
      annotations: SETS,
      summary: 'Close an award.',
      description: 'Report that an awarded task is done, so that its agent no longer counts as busy with it.',
      input: z.strictObject({ call_id: id }),
      run: ({ call_id }, context) => contracts.complete(call_id, callerOf(context)),
    }),
  ];
}
