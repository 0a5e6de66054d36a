import type { Settings } from '../config/settings.ts';
import { IDEMPOTENCY_FLAG } from './idempotency.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import { type PartTools, togglesOf } from './part-tools.ts';
import { EVENTS_FLAG } from './tools/events-watch.ts';
import { INTROSPECTION_FLAG, type Transports } from './tools/mcp-info.ts';
import { BULK_FLAG } from './tools/prune-text.ts';
import { RESOURCES_FLAG } from './tools/resources-list.ts';

/** Toggles of features that this product does not have, reported as off because clients may look for them. */
const ABSENT = ['enableValuesExplain', 'enableAssist'] as const;

/** The enabled command line flags. */
export function enabledFlags(settings: Settings, parts: readonly PartTools[]): Set<string> {
  const flags: readonly [string, boolean][] = [
    [INTROSPECTION_FLAG, settings.enableMcpIntrospection],
    [RESOURCES_FLAG, settings.enableResources],
    [EVENTS_FLAG, settings.enableEventsBus],
    [IDEMPOTENCY_FLAG, settings.enableIdempotency],
    [BULK_FLAG, settings.enableBulk],
    ...togglesOf(parts).map(([toggle, flag]): [string, boolean] => [flag, settings[toggle]]),
  ];
  return new Set(flags.flatMap(([flag, on]) => (on ? flag : [])));
}

/** The `mcp_info` answer for these settings. Contains no secrets. */
export function infoOf(
  settings: Settings,
  parts: readonly PartTools[],
  version: string,
  transports: Transports,
  maxInputBytes: number,
) {
  const further = (part: 'timings' | 'safety'): Readonly<Record<string, number>> =>
    Object.assign({}, ...parts.map((one) => one.info(settings)[part]));
  return {
    server: { name: 'mcp-pruner', version, mcpVersion: PROTOCOL_VERSIONS[0] },
    transports,
    features: {
      enableMcpIntrospection: settings.enableMcpIntrospection,
      enableResources: settings.enableResources,
      enableEventsBus: settings.enableEventsBus,
      enableIdempotency: settings.enableIdempotency,
      enableBulk: settings.enableBulk,
      ...Object.fromEntries(togglesOf(parts).map(([toggle]) => [toggle, settings[toggle]])),
      ...Object.fromEntries(ABSENT.map((name) => [name, false])),
    },
    timings: {
      pruneTimeoutMs: settings.timeoutMs,
      upstreamHeadersTimeoutMs: settings.upstreamHeadersTimeoutMs,
      upstreamBodyTimeoutMs: settings.upstreamBodyTimeoutMs,
      drainTimeoutMs: settings.drainTimeoutMs,
      pruneIdTtlMs: settings.pruneIdTtlS * 1000,
      idempotencyTtlMs: settings.idempotencyTtlS * 1000,
      ...further('timings'),
    },
    safety: {
      mode: settings.enabled ? settings.mode : 'off',
      backend: settings.backend,
      authRequired: settings.authToken !== null,
      maxPruneRatio: settings.maxPruneRatio,
      minKeepLines: settings.minKeepLines,
      maxInputChars: settings.maxInputChars,
      ...further('safety'),
    },
    limits: { maxInputBytes, defaultTimeoutMs: settings.timeoutMs, maxEventHistory: settings.maxEvents },
  };
}
