import type { RecallSearch } from 'mcp-pruner/core/ports/recall.ts';
import { defineTool, integer, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';

const input = z.strictObject({
  query: z.string(),
  path: z.string().optional(),
  tool: z.string().optional(),
  scope: z.enum(['conversation', 'project']).optional(),
  limit: integer.min(1).optional(),
});

export function recallTool(recall: RecallSearch): Tool {
  return defineTool({
    name: 'recall',
    namespace: 'pruner',
    summary: 'Search the tool results seen before.',
    description:
      'Search all tool results seen before, also those lost to a compaction, by path, command, names or words. Returns JSON: hits with ' +
      'lines, text and prune_id for recover_text.',
    annotations: { readOnlyHint: true },
    input,
    run({ query, path, tool, scope = 'project', limit }, { scope: caller }) {
      const { project, task } = caller ?? { project: 'default', task: '' };
      return recall.search({ query, path, tool, scope, limit, project, task });
    },
  });
}
