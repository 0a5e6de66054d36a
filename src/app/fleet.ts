import type { RequestListener } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { launchOnce } from '../agents/one-shot.ts';
import type { ChildRequestUsage } from '../core/ports/child-gate.ts';
import type { Clock } from '../core/ports.ts';
import { Places } from '../fleet/children/places.ts';
import { SystemProcesses } from '../fleet/children/system-processes.ts';
import { Fleet } from '../fleet/fleet.ts';
import { FleetResources } from '../fleet/resources.ts';
import { serverOn } from '../fleet/servers.ts';
import { dollarsOf, type Prices } from '../ledger/prices.ts';
import { IDEMPOTENCY_FLAG } from '../mcp/idempotency.ts';
import { enabledFlags } from '../mcp/info.ts';
import type { Tool, ToolContext, ToolRegistry } from '../mcp/tool.ts';
import { boardBatchTool, boardTools } from '../mcp/tools/fleet/board-tools.ts';
import { childBatchTool, childTools } from '../mcp/tools/fleet/child-tools.ts';
import { graphBatchTool, graphTools } from '../mcp/tools/fleet/graph-tools.ts';
import { missingFlag } from '../mcp/tools/fleet/names.ts';
import { contractTools, planTools } from '../mcp/tools/fleet/plan-tools.ts';
import { stigmergyBatchTool, stigmergyTools } from '../mcp/tools/fleet/stigmergy-tools.ts';
import { pricesOf } from './ledger.ts';
import { newSecret, newUuid } from './request-ids.ts';
import type { Services } from './services.ts';

export interface FleetPlace {
  /** Where children reach this server, without a path; `null` where they cannot, and none are started. */
  readonly url: (() => string) | null;
  readonly faces: Parameters<ToolRegistry['list']>[0];
  /** Whether callers may start programs: they came over stdio, or must show a token. */
  readonly mayStart: boolean;
}

/** The fleet as this server offers it. */
export interface OpenFleet {
  readonly fleet: Fleet;
  /** @param registry - all tools, for plans */
  tools(registry: () => ToolRegistry): readonly Tool[];
  close(): Promise<void>;
}

/** Opens the fleet over the store. Loaded only where a part of it is switched on. */
export async function openFleet(services: Services, { url, faces, mayStart }: FleetPlace): Promise<OpenFleet> {
  const { settings, store, clock, failures, resources, env = {}, cwd = '/' } = services;
  const fleetStore = await store.fleet();
  const instanceId = serverOn(hostname(), newUuid());
  const onFailure = failures.of('fleet');
  const roots = settings.childRoots.length > 0 ? settings.childRoots : [cwd];
  const folder = settings.dbPath === ':memory:' ? tmpdir() : dirname(settings.dbPath);
  const fleet = new Fleet({
    ...{ store: fleetStore, newId: newUuid, instanceId, onFailure },
    ...{ clock, pid: process.pid },
    halfLifeMs: settings.stigHalfLifeMs,
    tickMs: settings.btTickMs,
    children:
      url === null || !settings.enableChildren
        ? null
        : {
            ...{ store: fleetStore, clock, newId: newUuid, newToken: newSecret, instanceId, env, url, onFailure },
            processes: new SystemProcesses(),
            places: new Places(settings.childCommands, roots, env.PATH ?? ''),
            pid: process.pid,
            folder: join(folder, 'children'),
            handedOn: settings.childEnv,
            settable: settings.childEnvAllow,
            maxChildren: settings.maxChildren,
            graceMs: settings.childGraceMs,
            ceilings: {
              wallclockMs: settings.childTimeoutS * 1000,
              memoryMb: settings.childMemoryMb,
              cpuPercent: settings.childCpuPercent,
            },
            costOf: costs(pricesOf(settings), clock),
            launch: (agent, asked) => {
              const place = { env, homeDir: env.HOME ?? '/', readFile: () => null };
              return launchOnce(agent, asked, place);
            },
          },
  });
  resources.extend(new FleetResources(fleet, fleetStore));
  await fleet.open().catch((cause: unknown) => onFailure('open', cause));
  return {
    fleet,
    tools: (registry) => toolsOf(fleet, services, faces, registry, mayStart),
    close: () => fleet.close(),
  };
}

/** Dollars of a request by the table of prices. */
function costs(prices: Prices, clock: Clock): (usage: ChildRequestUsage) => number | null {
  return ({ model, tokensIn, tokensOut, cacheRead, cacheWritten }) => {
    const price = model === null ? null : prices.of(model, clock.nowMs());
    if (price === null) return null;
    const fresh = Math.max(0, tokensIn - cacheRead - cacheWritten);
    return dollarsOf({ fresh, write5m: cacheWritten, write1h: 0, read: cacheRead, output: tokensOut }, price);
  };
}

function toolsOf(
  { graphs, board, field, children, plans, contracts }: Fleet,
  { settings, idempotency, store }: Services,
  faces: FleetPlace['faces'],
  registry: () => ToolRegistry,
  mayStart: boolean,
): readonly Tool[] {
  const flags = enabledFlags(settings);
  const isKeyed = flags.has(IDEMPOTENCY_FLAG);
  const ofChildren = children === null ? [] : childTools(children);
  const spawn = ofChildren.find(({ name }) => name === 'child_spawn_codex');
  const all = [
    ...ofChildren,
    ...(children !== null && spawn !== undefined
      ? [
          childBatchTool(children, isKeyed ? idempotency.wrap(spawn) : spawn, isKeyed, (key) =>
            store.records.dropReply('child_spawn_codex', key, true),
          ),
        ]
      : []),
    ...graphTools(graphs),
    graphBatchTool(graphs, isKeyed),
    ...boardTools(board),
    boardBatchTool(board),
    ...stigmergyTools(field),
    stigmergyBatchTool(field),
    ...planTools(plans, (context) => callable(registry(), faces, context)),
    ...contractTools(contracts),
  ];
  return all.filter(({ name }) => missingFlag(name, flags, mayStart) === null);
}

/** The tools of this server as a plan calls them. */
function callable(registry: ToolRegistry, faces: FleetPlace['faces'], context: ToolContext) {
  return {
    refusal: (name: string): string | null => {
      try {
        registry.find(name, faces);
        return null;
      } catch (cause) {
        return cause instanceof Error ? cause.message.slice(0, 200) : 'it cannot be called';
      }
    },
    call: async (name: string, input: unknown, signal: AbortSignal): Promise<unknown> => {
      const text = await registry.find(name, faces).call(input, { ...context, signal });
      try {
        return JSON.parse(text) as unknown;
      } catch {
        return text;
      }
    },
  };
}

/** One listener for each child that calls, the newest of them kept. */
export function listenersByChild(open: (childId: string) => RequestListener): (childId: string) => RequestListener {
  const kept = new LRUCache<string, RequestListener>({ max: 100 });
  return (childId) => {
    const known = kept.get(childId);
    if (known) return known;
    const listener = open(childId);
    kept.set(childId, listener);
    return listener;
  };
}
