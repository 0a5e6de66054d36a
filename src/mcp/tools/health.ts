import { z } from 'zod';
import type { Clock } from '../../core/ports.ts';
import { defineTool, type Tool } from '../tool.ts';

/** Fields that clients rely on; others may be added. */
export interface HealthReport extends Readonly<Record<string, unknown>> {
  /** `degraded` means that requests are forwarded, but the store cannot be read or written. */
  readonly status: 'healthy' | 'degraded';
  readonly server: 'mcp-pruner';
  readonly version: string;
  readonly capabilities: readonly string[];
  /** ISO 8601, UTC. */
  readonly timestamp: string;
}

/**
 * The answer of `GET /health`, the method `health` and the tool `health`.
 *
 * @param details - further fields (state of the store, of a backend); they cannot override contract fields
 */
export function healthReport(
  version: string,
  clock: Clock,
  details: Readonly<Record<string, unknown>> = {},
  status: HealthReport['status'] = 'healthy',
): HealthReport {
  return {
    ...details,
    status,
    server: 'mcp-pruner',
    version,
    capabilities: ['prune_text', 'recover_text', 'annotations', 'markers'],
    timestamp: new Date(clock.nowMs()).toISOString(),
  };
}

export function healthTool(report: () => HealthReport | Promise<HealthReport>): Tool {
  return defineTool({
    name: 'health',
    namespace: 'pruner',
    summary: 'Report whether the server works and its features.',
    description: 'Report whether the pruner works, its version and its features. Returns JSON.',
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: z.strictObject({}),
    run: report,
  });
}
