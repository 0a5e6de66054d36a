import { earlier, group, list, wholeNumber } from 'mcp-pruner/config/rules.ts';
import { type Features, setting } from 'mcp-pruner/config/settings/setting.ts';
import type { ValuesOf } from 'mcp-pruner/config/settings.ts';

declare module 'mcp-pruner/config/settings.ts' {
  interface Settings extends ValuesOf<typeof fleetSettings> {}
}

export const fleetFeatures: Features = {
  enableFleet: {
    doc: 'Switches on the whole fleet, with resources, events, bulk and idempotency; -<name> leaves one out (docs/fleet.md).',
    implies: [
      'resources',
      'events-bus',
      'idempotency',
      'bulk',
      'children',
      'child-ops-fine',
      'graphs',
      'tx',
      'locks',
      'diff-patch',
      'blackboard',
      'stigmergy',
      'bt',
      'reactive-scheduler',
      'plan-lifecycle',
      'cancellation',
      'cnp',
    ],
  },
  enableChildren: { doc: 'Lets MCP clients start child agents. Over HTTP only with a token.' },
  enableChildOpsFine: {
    doc: 'Lets MCP clients start children from manifest files, attach to them, and change roles and limits.',
    implies: ['children'],
  },
  enableGraphs: { doc: 'Offers task graphs (graph_mutate).' },
  enableTx: { doc: 'Offers transactions of graphs (tx_*).', implies: ['graphs'] },
  enableLocks: { doc: 'Offers locks of graphs (graph_lock, graph_unlock).', implies: ['graphs'] },
  enableDiffPatch: { doc: 'Offers comparing and patching graphs (graph_diff, graph_patch).', implies: ['graphs'] },
  enableBlackboard: { doc: 'Offers a blackboard of shared facts (bb_*).' },
  enableStigmergy: { doc: 'Offers pheromones on nodes (stig_*).' },
  enableBT: { doc: 'Offers behaviour trees (plan_run_bt).' },
  enableReactiveScheduler: { doc: 'Offers trees that react to blackboard and pheromones (plan_run_reactive).' },
  enablePlanLifecycle: {
    doc: 'Offers looking at, pausing and resuming runs (plan_status, plan_pause, plan_resume, plan_dry_run).',
  },
  enableCancellation: { doc: 'Offers cancelling runs (op_cancel, plan_cancel).' },
  enableCNP: { doc: 'Offers a contract net that gives tasks to the lowest bid (cnp_*).' },
};

export const fleetSettings = {
  children: setting({
    ...group({
      max: {
        rule: wholeNumber(1, 1_000),
        fallback: 16,
        doc: 'most children running at once',
        ...earlier('MAX_CHILDREN'),
      },
      memory: {
        rule: wholeNumber(0),
        fallback: 4096,
        doc: 'largest and default memory of a child with its descendants in MB, 0: no limit; needs /proc',
        ...earlier('CHILD_MEMORY_MB'),
      },
      cpu: {
        rule: wholeNumber(0),
        fallback: 0,
        doc: 'largest and default CPU of a child in % of a core, 0: no limit; needs /proc',
        ...earlier('CHILD_CPU_PERCENT'),
      },
      timeout: {
        rule: wholeNumber(0, 1_000_000),
        fallback: 3600,
        doc: 'longest and default run of a child in s, 0: no limit',
        ...earlier('CHILD_TIMEOUT_S'),
      },
      grace: {
        rule: wholeNumber(0, 60_000),
        fallback: 2000,
        doc: 'time between SIGTERM and SIGKILL in ms',
        ...earlier('CHILD_GRACE_MS'),
      },
      commands: {
        rule: list('agent names and absolute paths of programs'),
        fallback: ['codex', 'codex-chat', 'claude', 'opencode', 'qwen', 'kilo', 'cline', 'copilot', 'gemini'],
        doc: 'programs that may be children',
        ...earlier('CHILD_COMMANDS'),
      },
      roots: {
        rule: list('folders'),
        fallback: [],
        doc: 'folders for children and manifest files, by default the one that the server was started in; no sandbox: a child can reach whatever its user can',
        ...earlier('CHILD_ROOTS'),
      },
      env: {
        rule: list('names of variables'),
        fallback: [],
        doc: 'further variables of the server that children inherit',
        ...earlier('CHILD_ENV'),
      },
      settable: {
        rule: list('names of variables, or prefixes followed by *'),
        fallback: [],
        doc: 'further variables that a call may set for a child; a name that lets a program load or start something bypasses commands (docs/fleet.md)',
        ...earlier('CHILD_ENV_ALLOW'),
      },
      tools: {
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
        doc: 'tools that children have at their own address',
        ...earlier('CHILD_TOOLS'),
      },
    }),
    doc: 'Limits and permissions of child agents.',
  }),
};
