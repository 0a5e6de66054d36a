import { list, wholeNumber } from 'mcp-pruner/config/rules.ts';
import { optionalFeature, setting } from 'mcp-pruner/config/settings/setting.ts';
import type { ValuesOf } from 'mcp-pruner/config/settings.ts';

declare module 'mcp-pruner/config/settings.ts' {
  interface Settings extends ValuesOf<typeof fleetSettings> {}
}

/** The fleet: children, graphs, blackboard, stigmergy, plans. */
export const fleetSettings = {
  enableFleet: optionalFeature(
    'Switches on the whole fleet, with resources, events, bulk and idempotency; an added --disable-… leaves one out (docs/fleet.md).',
    [
      'enableResources',
      'enableEventsBus',
      'enableIdempotency',
      'enableBulk',
      'enableChildren',
      'enableChildOpsFine',
      'enableGraphs',
      'enableTx',
      'enableLocks',
      'enableDiffPatch',
      'enableBlackboard',
      'enableStigmergy',
      'enableBT',
      'enableReactiveScheduler',
      'enablePlanLifecycle',
      'enableCancellation',
      'enableCNP',
    ],
  ),
  enableChildren: optionalFeature('Lets MCP clients start child agents. Over HTTP only with a token.'),
  enableChildOpsFine: optionalFeature(
    'Lets MCP clients start children from manifest files, attach to them, and change roles and limits.',
    ['enableChildren'],
  ),
  enableGraphs: optionalFeature('Offers task graphs (graph_mutate).'),
  enableTx: optionalFeature('Offers transactions of graphs (tx_*).', ['enableGraphs']),
  enableLocks: optionalFeature('Offers locks of graphs (graph_lock, graph_unlock).', ['enableGraphs']),
  enableDiffPatch: optionalFeature('Offers comparing and patching graphs (graph_diff, graph_patch).', ['enableGraphs']),
  enableBlackboard: optionalFeature('Offers a blackboard of shared facts (bb_*).'),
  enableStigmergy: optionalFeature('Offers pheromones on nodes (stig_*).'),
  enableBT: optionalFeature('Offers behaviour trees (plan_run_bt).'),
  enableReactiveScheduler: optionalFeature('Offers trees that react to blackboard and pheromones (plan_run_reactive).'),
  enablePlanLifecycle: optionalFeature(
    'Offers looking at, pausing and resuming runs (plan_status, plan_pause, plan_resume, plan_dry_run).',
  ),
  enableCancellation: optionalFeature('Offers cancelling runs (op_cancel, plan_cancel).'),
  enableCNP: optionalFeature('Offers a contract net that gives tasks to the lowest bid (cnp_*).'),
  maxChildren: setting({
    rule: wholeNumber(1, 1_000),
    fallback: 16,
    unit: 'children',
    flag: 'max-children',
    doc: 'Maximum number of children running at once.',
  }),
  childMemoryMb: setting({
    rule: wholeNumber(0),
    fallback: 4096,
    unit: 'MB',
    flag: 'child-memory-mb',
    doc: 'Largest and default memory of a child with its descendants; 0: no limit. Needs /proc.',
  }),
  childCpuPercent: setting({
    rule: wholeNumber(0),
    fallback: 0,
    unit: '%',
    flag: 'child-cpu-percent',
    doc: 'Largest and default CPU of a child (100: one core); 0: no limit. Needs /proc.',
  }),
  childTimeoutS: setting({
    rule: wholeNumber(0, 1_000_000),
    fallback: 3600,
    unit: 's',
    flag: 'child-timeout-sec',
    doc: 'Longest and default run of a child; 0: no limit.',
  }),
  childGraceMs: setting({
    rule: wholeNumber(0, 60_000),
    fallback: 2000,
    unit: 'ms',
    doc: 'Time between SIGTERM and SIGKILL for a child.',
  }),
  childCommands: setting({
    rule: list('agent names and absolute paths of programs'),
    fallback: ['codex', 'codex-chat', 'claude', 'opencode', 'qwen', 'kilo', 'cline', 'copilot', 'gemini'],
    fallbackWords: 'all wired agents',
    doc: 'Programs that may be children.',
  }),
  childRoots: setting({
    rule: list('folders'),
    fallback: [],
    fallbackWords: 'the folder that the server was started in',
    doc: 'Folders for children and manifest files. No sandbox: a child can reach whatever its user can.',
  }),
  childEnv: setting({
    rule: list('names of variables'),
    fallback: [],
    doc: 'Further variables of the server that children inherit.',
  }),
  childEnvAllow: setting({
    rule: list('names of variables, or prefixes followed by *'),
    fallback: [],
    doc: 'Further variables that a call may set for a child. A name that lets a program load or start something bypasses MCP_PRUNER_CHILD_COMMANDS (docs/fleet.md).',
  }),
  childTools: setting({
    rule: list('tool names (globs)'),
    fallback: [
      'recover_text',
      'prune_text',
      'health',
      'bb_*',
      'stig_mark',
      'stig_batch',
      'stig_snapshot',
      'graph_mutate',
      'graph_batch_mutate',
      'graph_diff',
      'tx_*',
    ],
    fallbackWords:
      'recover_text, prune_text, health, bb_*, stig_mark, stig_batch, stig_snapshot, graph_mutate, graph_batch_mutate, graph_diff, tx_*',
    doc: 'Tools that children have at their own address.',
  }),
  stigHalfLifeMs: setting({
    rule: wholeNumber(1, 86_400_000),
    fallback: 30_000,
    unit: 'ms',
    flag: 'stig-half-life-ms',
    doc: 'Half-life of pheromones where stig_decay names none.',
  }),
  btTickMs: setting({
    rule: wholeNumber(5, 10_000),
    fallback: 50,
    unit: 'ms',
    flag: 'bt-tick-ms',
    doc: 'Poll interval of behaviour trees.',
  }),
};
