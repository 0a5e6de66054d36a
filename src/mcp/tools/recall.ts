import { z } from 'zod';
import { DEFAULT_HITS, MAX_HITS, type Recall } from '../../core/recall/recall.ts';
import { defineTool, integer, type Tool } from '../tool.ts';

const input = z.strictObject({
  query: z.string(),
  path: z.string().optional(),
  tool: z.string().optional(),
  scope: z.enum(['conversation', 'project']).optional(),
  limit: integer.min(1).optional(),
});

/** `recall`: searches lines of earlier tool results by their words. */
export function recallTool(recall: Pick<Recall, 'search'>): Tool {
  return defineTool({
    name: 'recall',
    namespace: 'pruner',
    summary: 'Search the tool results seen before.',
    description:
      'Search all tool results seen before, also those lost to a compaction, by path, command, names or words. Returns JSON: hits with ' +
      'lines, text and prune_id for recover_text.',
    annotations: { readOnlyHint: true },
    input,
    run({ query, path, tool, scope = 'project', limit = DEFAULT_HITS }, { scope: caller }) {
      const { project, task } = caller ?? { project: 'default', task: '' };
      return recall.search({ query, path, tool, scope, limit: Math.min(limit, MAX_HITS), project, task });
    },
  });
}
