import { z } from 'zod';
import type { Resources } from '../resources/registry.ts';
import { defineTool, type Tool } from '../tool.ts';

export const RESOURCES_FLAG = '--enable-resources';
export const MAX_RESOURCE_ITEMS = 500;
const DEFAULT_ITEMS = 100;

const input = z.strictObject({
  prefix: z.string().trim().min(1).optional(),
  limit: z.int().positive().max(MAX_RESOURCE_ITEMS).optional(),
});

export function resourcesListTool(resources: Resources): Tool {
  return defineTool({
    name: 'resources_list',
    namespace: 'resources',
    summary: 'List sc:// resources, the newest first.',
    description:
      'List the sc:// resources of the pruner, the newest first: sc://runs/<runId>/events (what it did in a conversation), ' +
      'sc://snapshots/<prune_id> (the original behind a marker), sc://children/<childId>/logs (agents it started). ' +
      `prefix narrows them, limit bounds them (default ${DEFAULT_ITEMS}). Returns JSON: items.`,
    flag: RESOURCES_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run({ prefix, limit }) {
      return { items: await resources.list(prefix ?? 'sc://', limit ?? DEFAULT_ITEMS) };
    },
  });
}
