import { z } from 'zod';
import type { Resources } from '../resources/registry.ts';
import { defineTool, type Tool } from '../tool.ts';
import { RESOURCES_FLAG } from './resources-list.ts';

const input = z.strictObject({ uri: z.string().min(1) });

export function resourcesReadTool(resources: Resources): Tool {
  return defineTool({
    name: 'resources_read',
    namespace: 'resources',
    summary: 'Read one sc:// resource whole.',
    description:
      'Read one sc:// resource, as resources_list names it. Returns JSON: uri, kind, payload ({runId, events}, ' +
      '{childId, logs}, or for a snapshot the original text with annotations, stats and goal).',
    flag: RESOURCES_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    run: ({ uri }) => resources.read(uri),
  });
}
