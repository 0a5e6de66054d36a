import { enabledFlags, infoOf } from '../mcp/info.ts';
import type { JsonObject } from '../mcp/json-rpc.ts';
import type { PartTools } from '../mcp/part-tools.ts';
import { resourceCapabilities, resourceMethods, withoutResources } from '../mcp/resource-methods.ts';
import type { Method } from '../mcp/server.ts';
import { type Face, type Tool, ToolRegistry } from '../mcp/tool.ts';
import { eventsWatchTool } from '../mcp/tools/events-watch.ts';
import { healthTool } from '../mcp/tools/health.ts';
import { mcpCapabilitiesTool } from '../mcp/tools/mcp-capabilities.ts';
import { mcpInfoTool, type Transports } from '../mcp/tools/mcp-info.ts';
import { pruneBatchTool, pruneTextTool } from '../mcp/tools/prune-text.ts';
import { recoverBatchTool, recoverTextTool } from '../mcp/tools/recover-text.ts';
import { resourcesListTool } from '../mcp/tools/resources-list.ts';
import { resourcesReadTool } from '../mcp/tools/resources-read.ts';
import { resourcesWatchTool } from '../mcp/tools/resources-watch.ts';
import type { Services } from './compose.ts';
import { type Guest, partTools } from './guest.ts';

/** The tools, and other protocol features of the same services. */
export interface Toolset {
  readonly registry: ToolRegistry;
  /** Further protocol methods, and the capabilities announced for them in `initialize`. */
  readonly methods: Readonly<Record<string, Method>>;
  readonly capabilities: JsonObject;
}

/** The clients that the tools are for. */
export interface ToolFace {
  readonly faces: readonly Face[];
  readonly transports: () => Transports;
  /** Whether connections persist, so that clients can receive updates. */
  readonly stays: boolean;
  /** Maximum message size in bytes. */
  readonly maxInputBytes: number;
}

/** Inputs for building a family of tools. */
interface Parts extends Services {
  readonly face: ToolFace;
  /** The complete registry; available once all families are built. */
  readonly registry: () => ToolRegistry;
}

/** Tool families in listing order. A new family is a row; each tool has its own flag. */
const families: readonly ((parts: Parts) => readonly Tool[])[] = [
  ({ pruner, recall, health }) => [pruneTextTool(pruner), recoverTextTool(pruner), ...recall.tools, healthTool(health)],
  ({ edition, settings, version, face, registry }) => [
    mcpInfoTool(() =>
      infoOf(settings, edition.settings.features, partTools(edition), version, face.transports(), face.maxInputBytes),
    ),
    mcpCapabilitiesTool({
      tools: () => registry().list(face.faces),
      further: settings.enable.includes('idempotency') ? ['idempotency'] : [],
      maxEvents: settings.maxEvents,
    }),
  ],
  ({ resources }) => [
    resourcesListTool(resources),
    resourcesReadTool(resources),
    resourcesWatchTool(resources),
    eventsWatchTool(resources),
  ],
  ({ pruner }) => [pruneBatchTool(pruner), recoverBatchTool(pruner)],
  ({ contextGc }) => contextGc.tools,
];

/** Tools (besides those of parts) that accept an `idempotency_key` if idempotency is on: mutating and batch tools. */
const KEYED: readonly string[] = [
  'prune_text',
  'context_gc_prune',
  'context_gc_pin',
  'context_gc_unpin',
  'prune_batch',
  'recover_batch',
];

/**
 * Builds the tools over the services.
 *
 * @param further - tools of one face only, listed first
 * @param opened - enabled parts
 */
export function openTools(
  services: Services,
  face: ToolFace,
  further: readonly Tool[] = [],
  opened: readonly Guest[] = [],
): Toolset {
  const { edition, settings, idempotency, resources, health, failures } = services;
  const known = partTools(edition);
  const parts: Parts = { ...services, face, registry: () => registry };
  const ofParts = opened.flatMap(({ rows }) => rows.tools?.(parts.registry) ?? []);
  const flags = enabledFlags(settings);
  const mayStart = face.stays || settings.authToken !== null;
  const absent = absentTools(known, ofParts, flags, mayStart);
  const tools = [...further, ...families.flatMap((family) => family(parts)), ...ofParts, ...absent];
  const keyedTools = new Set([...KEYED, ...known.flatMap(({ keyed }) => keyed)]);
  const keyed = (tool: Tool): Tool =>
    settings.enable.includes('idempotency') && keyedTools.has(tool.name) ? idempotency.wrap(tool) : tool;
  const registry = new ToolRegistry(
    tools.map(keyed),
    flags,
    Object.assign({}, ...known.map(({ profiles }) => profiles)),
  );
  return {
    registry,
    methods: {
      health,
      ...(settings.enable.includes('resources')
        ? resourceMethods(resources, face.stays, failures.of('subscriptions'))
        : withoutResources),
    },
    capabilities: settings.enable.includes('resources') ? resourceCapabilities(face.stays) : {},
  };
}

/** Alternative named in errors for tools that this start mode lacks. */
const ELSEWHERE = 'mcp-pruner serve';

/** Stand-ins for tools of disabled parts; their error names the missing flag. */
function absentTools(
  parts: readonly PartTools[],
  offered: readonly Tool[],
  flags: ReadonlySet<string>,
  mayStart: boolean,
): Tool[] {
  const there = new Set(offered.map(({ name }) => name));
  return parts.flatMap(({ namespace, names, missingFlag }) =>
    names
      .filter((name) => !there.has(name))
      .map((name) => ({
        name,
        flag: missingFlag(name, flags, mayStart) ?? ELSEWHERE,
        namespace,
        summary: '',
        description: '',
        faces: ['rpc'],
        inputSchema: {},
        call: () => Promise.reject(new Error('this tool is off')),
      })),
  );
}
