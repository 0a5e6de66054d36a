import type { RequestListener } from 'node:http';
import { hostname, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { launchOnce } from '@mcp-pruner/agents/one-shot.ts';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { dollarsOf, type Prices } from '@mcp-pruner/money/prices.ts';
import { LRUCache } from 'lru-cache';
import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Guest, PartPlace } from 'mcp-pruner/app/guest.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { IDEMPOTENCY_FLAG } from 'mcp-pruner/mcp/idempotency.ts';
import { enabledFlags } from 'mcp-pruner/mcp/info.ts';
import type { Tool, ToolContext, ToolRegistry } from 'mcp-pruner/mcp/tool.ts';
import type { Gatekeeper } from 'mcp-pruner/proxy/doors/gatekeeper.ts';
import { parsed } from 'mcp-pruner/wires/json/value.ts';
import { Places } from '../children/places.ts';
import type { RequestGate } from '../children/request-gate.ts';
import { SystemProcesses } from '../children/system-processes.ts';
import { Fleet } from '../fleet.ts';
import { FleetResources } from '../resources.ts';
import { serverOn } from '../servers.ts';
import { FleetStore } from '../tables/fleet-store.ts';
import { HALF_LIFE_MS, TICK_MS } from '../timings.ts';
import { missingFlag } from './names.ts';
import { fleetActions, fleetReadings } from './page.ts';
import { boardBatchTool, boardTools } from './tools/board-tools.ts';
import { childBatchTool, childTools } from './tools/child-tools.ts';
import { graphBatchTool, graphTools } from './tools/graph-tools.ts';
import { contractTools, planTools } from './tools/plan-tools.ts';
import { stigmergyBatchTool, stigmergyTools } from './tools/stigmergy-tools.ts';

export async function openFleet(services: Services, { url, faces, mayStart }: PartPlace): Promise<Guest> {
  const { settings, store, clock, ids, failures, resources, env = {}, cwd = '/' } = services;
  const limits = settings.children;
  const fleetStore = new FleetStore(store.sql);
  const instanceId = serverOn(hostname(), ids.uuid());
  const onFailure = failures.of({ extension: 'fleet' });
  const roots = limits.roots.length > 0 ? limits.roots : [cwd];
  // an unguessable name, because others may write to the folder for temporary files
  const folder = settings.dbPath === ':memory:' ? join(tmpdir(), `mcp-pruner-${ids.uuid()}`) : dirname(settings.dbPath);
  const fleet = new Fleet({
    ...{ store: fleetStore, newId: ids.uuid, instanceId, onFailure },
    ...{ clock, pid: process.pid },
    halfLifeMs: HALF_LIFE_MS,
    tickMs: TICK_MS,
    children:
      url === null || !settings.enable.includes('children')
        ? null
        : {
            ...{ store: fleetStore, clock, newId: ids.uuid, newToken: ids.secret, instanceId, env, url, onFailure },
            processes: new SystemProcesses(),
            places: new Places(limits.commands, roots, env.PATH ?? ''),
            pid: process.pid,
            folder: join(folder, 'children'),
            handedOn: limits.env,
            settable: limits.settable,
            maxChildren: limits.max,
            graceMs: limits.grace,
            ceilings: {
              wallclockMs: limits.timeout * 1000,
              memoryMb: limits.memory,
              cpuPercent: limits.cpu,
            },
            costOf: costs(pricesOf(services.settings), clock),
            launch: (agent, request) => {
              const place = { env, homeDir: env.HOME ?? '/', readFile: () => null };
              return launchOnce(agent, request, place);
            },
          },
  });
  resources.extend(new FleetResources(fleet, fleetStore));
  await fleet.open().catch((cause: unknown) => onFailure('open', cause));
  const gate = fleet.children?.gate;
  return {
    name: 'fleet',
    rows: {
      tools: (registry) => toolsOf(fleet, services, faces, registry, mayStart),
      door: gate && (async ({ rpc }) => doorOf(gate, rpc, failures.of('child'))),
      readings: fleetReadings(fleet, fleetStore, store.records),
      actions: fleetActions(fleet),
    },
    stop: () => fleet.close(),
  };
}

function costs(prices: Prices, clock: Clock): (usage: ExchangeUsage) => number | null {
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
  faces: PartPlace['faces'],
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

function callable(registry: ToolRegistry, faces: PartPlace['faces'], context: ToolContext) {
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
      const answer = parsed(text);
      return answer === undefined ? text : answer;
    },
  };
}

async function doorOf(
  gate: RequestGate,
  rpc: (childId: string) => RequestListener,
  onFailure: FailureReporter,
): Promise<Gatekeeper> {
  const { childDoor } = await import('./door/child-door.ts');
  return childDoor({ gate, rpc: listenersByChild(rpc), onFailure });
}

function listenersByChild(open: (childId: string) => RequestListener): (childId: string) => RequestListener {
  const kept = new LRUCache<string, RequestListener>({ max: 100 });
  return (childId) => {
    const known = kept.get(childId);
    if (known) return known;
    const listener = open(childId);
    kept.set(childId, listener);
    return listener;
  };
}
