import type { Settings, SettingTable } from '../config/settings.ts';
import { IDEMPOTENCY_TTL_MS } from './idempotency.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import type { PartTools } from './part-tools.ts';
import type { Transports } from './tools/mcp-info.ts';

/** Toggles of features that this product does not have, reported as off because clients may look for them. */
const ABSENT = ['enableValuesExplain', 'enableAssist'] as const;

export function enabledFlags({ enable }: Settings): Set<string> {
  return new Set(enable.map((name) => `--enable-${name}`));
}

/** The `mcp_info` answer for these settings. Contains no secrets. */
export function infoOf(
  settings: Settings,
  features: SettingTable['features'],
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
      ...Object.fromEntries(features.map(({ key, name }) => [key, settings.enable.includes(name)])),
      ...Object.fromEntries(ABSENT.map((name) => [name, false])),
    },
    timings: {
      pruneTimeoutMs: settings.timeoutMs,
      upstreamTimeoutMs: settings.upstreamTimeoutMs,
      drainTimeoutMs: settings.drainTimeoutMs,
      pruneIdTtlMs: settings.pruneIdTtlS * 1000,
      idempotencyTtlMs: IDEMPOTENCY_TTL_MS,
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
