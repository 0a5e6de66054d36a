import { z } from 'zod';
import type { ContextGc } from '../../gc/context-gc.ts';
import { defineTool, type Tool } from '../tool.ts';
import { NOTHING_NAMED, projectId, segmentIds } from './context-gc.ts';

const input = z.strictObject({
  project_id: projectId,
  segment_ids: segmentIds,
  action: z.enum(['stash', 'delete']),
  confirm: z.boolean().default(false),
});

const NOT_CONFIRMED = 'Nothing was deleted: delete cannot be undone and needs confirm: true. stash needs none.';

/** `context_gc_prune`: removes segments from the model's view, starting with the next request. */
export function contextGcPruneTool(gc: ContextGc): Tool {
  return defineTool({
    name: 'context_gc_prune',
    namespace: 'context_gc',
    summary: 'Take segments out of the conversation.',
    description:
      'From the next request on, a marker line replaces the segments. stash keeps the text (recover_text returns ' +
      'it, context_gc_pin puts it back); delete erases it and needs confirm: true. Returns JSON: pruned_segments, tokens_freed, action, errors.',
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run({ project_id, segment_ids, action, confirm }) {
      const answer = {
        pruned_segments: [] as readonly string[],
        tokens_freed: 0,
        action: `${action}${action === 'stash' ? 'ed' : 'd'}`,
      };
      if (segment_ids.length === 0) return { ...answer, errors: [NOTHING_NAMED] };
      if (action === 'delete' && !confirm) return { ...answer, errors: [NOT_CONFIRMED] };
      const { done, tokens, errors } = await gc.prune(project_id, segment_ids, action);
      return { ...answer, pruned_segments: done, tokens_freed: Math.round(tokens), errors };
    },
  });
}
