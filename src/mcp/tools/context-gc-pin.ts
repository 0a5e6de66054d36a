import { z } from 'zod';
import type { ContextGc } from '../../gc/context-gc.ts';
import { defineTool, type Tool } from '../tool.ts';
import { NOTHING_NAMED, projectId, segmentIds } from './context-gc.ts';

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
