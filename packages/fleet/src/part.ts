import type { Part } from 'mcp-pruner/app/guest.ts';
import { featureName } from 'mcp-pruner/config/settings.ts';
import { missingFlag, PROFILES, TOOL_NAMES } from './seat/names.ts';
import { fleetFeatures } from './settings.ts';
import { HALF_LIFE_MS, TICK_MS } from './timings.ts';

const NAMES = new Set(Object.keys(fleetFeatures).map(featureName));

/** The fleet: child agents, graphs, the blackboard, pheromones and plans. Known without loading its code. */
export const fleet: Part = {
  name: 'fleet',
  isOn: ({ enable }) => enable.some((name) => NAMES.has(name)),
  tools: {
    namespace: 'fleet',
    flag: '--enable-fleet',
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
    info: ({ children }) => ({
      timings: { btTickMs: TICK_MS, stigHalfLifeMs: HALF_LIFE_MS, defaultTimeoutMs: children.timeout * 1000 },
      safety: { maxChildren: children.max, memoryLimitMb: children.memory, cpuPercent: children.cpu },
    }),
  },
  readings: ['fleet', 'child-log', 'fleet-graph', 'fleet-board'],
  open: async (services, place) => (await import('./seat/open.ts')).openFleet(services, place),
};
