import type { Settings } from '../config/settings.ts';
import { IDEMPOTENCY_FLAG } from './idempotency.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import { EVENTS_FLAG } from './tools/events-watch.ts';
import { INTROSPECTION_FLAG, type McpInfo, type Transports } from './tools/mcp-info.ts';
import { BULK_FLAG } from './tools/prune-batch.ts';
import { RESOURCES_FLAG } from './tools/resources-list.ts';

/** Toggles that clients may look for, of parts which this product does not have: they are told, and off. */
const ABSENT = [
  'enableBT',
  'enableBlackboard',
  'enableCancellation',
  'enableTx',
  'enableLocks',
  'enableDiffPatch',
  'enablePlanLifecycle',
  'enableChildOpsFine',
  'enableValuesExplain',
  'enableAssist',
] as const;

/** The command line flags that are on. */
export function enabledFlags(settings: Settings): Set<string> {
  const flags: readonly [string, boolean][] = [
    [INTROSPECTION_FLAG, settings.enableMcpIntrospection],
    [RESOURCES_FLAG, settings.enableResources],
    [EVENTS_FLAG, settings.enableEventsBus],
    [IDEMPOTENCY_FLAG, settings.enableIdempotency],
    [BULK_FLAG, settings.enableBulk],
  ];
  return new Set(flags.flatMap(([flag, on]) => (on ? flag : [])));
}

/** What `mcp_info` tells of a server with these settings. Holds no secret. */
export function infoOf(settings: Settings, version: string, transports: Transports, maxInputBytes: number): McpInfo {
  return {
    server: { name: 'mcp-pruner', version, mcpVersion: PROTOCOL_VERSIONS[0] },
    transports,
    features: {
      enableMcpIntrospection: settings.enableMcpIntrospection,
      enableResources: settings.enableResources,
      enableEventsBus: settings.enableEventsBus,
      enableIdempotency: settings.enableIdempotency,
      enableBulk: settings.enableBulk,
      ...Object.fromEntries(ABSENT.map((name) => [name, false])),
    },
    timings: {
      pruneTimeoutMs: settings.timeoutMs,
      upstreamHeadersTimeoutMs: settings.upstreamHeadersTimeoutMs,
      upstreamBodyTimeoutMs: settings.upstreamBodyTimeoutMs,
      drainTimeoutMs: settings.drainTimeoutMs,
      pruneIdTtlMs: settings.pruneIdTtlS * 1000,
      idempotencyTtlMs: settings.idempotencyTtlS * 1000,
    },
    safety: {
      mode: settings.enabled ? settings.mode : 'off',
      backend: settings.backend,
      authRequired: settings.authToken !== null,
      maxPruneRatio: settings.maxPruneRatio,
      minKeepLines: settings.minKeepLines,
      maxInputChars: settings.maxInputChars,
    },
    limits: { maxInputBytes, defaultTimeoutMs: settings.timeoutMs, maxEventHistory: settings.maxEvents },
  };
}
