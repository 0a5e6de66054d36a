import { boundedList, defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { ContextGc } from '../context-gc.ts';

/** More than any conversation has; limits the work of one call. */
const MAX_SEGMENTS = 10_000;

export const projectId = z.string().min(1).max(200).describe('Header x-mcp-pruner-project, else "default".');

const segmentIds = boundedList(z.string(), MAX_SEGMENTS).describe('From context_gc_analyze.');

/** The answer to an empty list of segments. */
const NOTHING_NAMED = 'segment_ids is empty: nothing to do. context_gc_analyze lists segments.';

const common = {
  namespace: 'context_gc',
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  input: z.strictObject({ project_id: projectId, segment_ids: segmentIds }),
};

/** `context_gc_pin`: protects segments from pruning, starting with the next request. */
export function contextGcPinTool(gc: ContextGc): Tool {
  return defineTool({
    name: 'context_gc_pin',
    ...common,
    summary: 'Keep segments whole.',
    description: 'Keep segments whole; a stashed one comes back. Returns JSON: pinned_segments, errors.',
    async run({ project_id, segment_ids }) {
      if (segment_ids.length === 0) return { pinned_segments: [], errors: [NOTHING_NAMED] };
      const { done, errors } = await gc.pin(project_id, segment_ids);
      return { pinned_segments: done, errors };
    },
  });
}

/** `context_gc_unpin`: allows segments to be pruned again. */
export function contextGcUnpinTool(gc: ContextGc): Tool {
  return defineTool({
    name: 'context_gc_unpin',
    ...common,
    summary: 'Let segments be pruned again.',
    description: 'Undo context_gc_pin. Returns JSON: unpinned_segments, errors.',
    async run({ project_id, segment_ids }) {
      if (segment_ids.length === 0) return { unpinned_segments: [], errors: [NOTHING_NAMED] };
      const { done, errors } = await gc.unpin(project_id, segment_ids);
      return { unpinned_segments: done, errors };
    },
  });
}

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
