import type { Part } from 'mcp-pruner/app/part.ts';
import { missingFlag, PROFILES, TOOL_NAMES } from './seat/names.ts';

const TOGGLES = {
  enableFleet: '--enable-fleet',
  enableChildren: '--enable-children',
  enableChildOpsFine: '--enable-child-ops-fine',
  enableGraphs: '--enable-graphs',
  enableTx: '--enable-tx',
  enableLocks: '--enable-locks',
  enableDiffPatch: '--enable-diff-patch',
  enableBlackboard: '--enable-blackboard',
  enableStigmergy: '--enable-stigmergy',
  enableBT: '--enable-bt',
  enableReactiveScheduler: '--enable-reactive-scheduler',
  enablePlanLifecycle: '--enable-plan-lifecycle',
  enableCancellation: '--enable-cancellation',
  enableCNP: '--enable-cnp',
} as const;

/** The fleet: child agents, graphs, the blackboard, pheromones and plans. Known without loading its code. */
export const fleet: Part = {
  name: 'fleet',
  isOn: (settings) => Object.keys(TOGGLES).some((toggle) => settings[toggle as keyof typeof TOGGLES]),
  tools: {
    namespace: 'fleet',
    flag: '--enable-fleet',
    toggles: TOGGLES,
    names: TOOL_NAMES,
    profiles: PROFILES,
    missingFlag,
    keyed: [
      'child_create',
      'child_spawn_codex',
      'plan_run_bt',
      'plan_run_reactive',
      'cnp_announce',
      'tx_begin',
      'graph_batch_mutate',
    ],
    info: (settings) => ({
      timings: {
        btTickMs: settings.btTickMs,
        stigHalfLifeMs: settings.stigHalfLifeMs,
        defaultTimeoutMs: settings.childTimeoutS * 1000,
      },
      safety: {
        maxChildren: settings.maxChildren,
        memoryLimitMb: settings.childMemoryMb,
        cpuPercent: settings.childCpuPercent,
      },
    }),
  },
  readings: ['fleet', 'child-log', 'fleet-graph', 'fleet-board'],
  open: async (services, place) => (await import('./seat/open.ts')).openFleet(services, place),
};
