import { z } from 'zod';
import type { BulkPruner, Pruner, PruneTextInput, PruneTextResult } from '../../core/calls/api.ts';
import { boundedList, defineTool, integer, type Tool } from '../tool.ts';

/** The longest delay of a Node timer. */
const MAX_TIMEOUT_MS = 2_147_483_647;

const pruneTextInput = z.strictObject({
  text: z.string(),
  goal_hint: z.string(),
  source_type: z.enum(['code', 'logs', 'docs']),
  options: z.strictObject({
    max_prune_ratio: z.number().min(0).max(1),
    min_keep_lines: integer.min(0),
    timeout_ms: integer.min(1),
    annotate_lines: z.boolean(),
    include_markers: z.boolean(),
  }),
});

export function pruneTextTool(pruner: Pruner): Tool {
  return defineTool({
    name: 'prune_text',
    namespace: 'pruner',
    summary: 'Shorten a text by removing lines that do not serve a goal.',
    description:
      'Shorten a long text by removing lines that do not serve goal_hint. Kept lines are verbatim and in order; one marker line ' +
      'stands for each removed block, which recover_text gives back. ' +
      'Returns JSON: prune_id, pruned_text, annotations, stats, warnings.',
    annotations: { readOnlyHint: true, idempotentHint: true },
    input: pruneTextInput,
    async run(input, { signal, chargeTexts }) {
      await chargeTexts?.(1);
      return toWire(await pruner.pruneText(toInput(input), signal));
    },
  });
}

function toInput({ text, goal_hint, source_type, options }: z.infer<typeof pruneTextInput>): PruneTextInput {
  return {
    text,
    goalHint: goal_hint,
    sourceType: source_type,
    options: {
      maxPruneRatio: options.max_prune_ratio,
      minKeepLines: options.min_keep_lines,
      timeoutMs: Math.min(options.timeout_ms, MAX_TIMEOUT_MS),
      annotateLines: options.annotate_lines,
      includeMarkers: options.include_markers,
    },
  };
}

export function annotationToWire({ startLine, endLine, reason, marker }: PruneTextResult['annotations'][number]) {
  return {
    kind: 'pruned_block',
    original_start_line: startLine,
    original_end_line: endLine,
    pruned_line_count: endLine - startLine + 1,
    reason,
    marker,
  };
}

export function toWire({ pruneId, prunedText, annotations, stats, warnings }: PruneTextResult) {
  return {
    prune_id: pruneId,
    pruned_text: prunedText,
    annotations: annotations.map(annotationToWire),
    stats: {
      original_lines: stats.originalLines,
      kept_lines: stats.keptLines,
      pruned_lines: stats.prunedLines,
      pruned_ratio: stats.prunedRatio,
      tokens_est_before: stats.tokensEstBefore,
      tokens_est_after: stats.tokensEstAfter,
      elapsed_ms: stats.elapsedMs,
      used_fallback: stats.usedFallback,
      ...stats.extra,
    },
    warnings,
  };
}

export const BULK_FLAG = '--enable-bulk';
export const MAX_ENTRIES = 100;

const input = z.strictObject({ entries: boundedList(pruneTextInput, MAX_ENTRIES, 1) });

export function pruneBatchTool(pruner: BulkPruner): Tool {
  return defineTool({
    name: 'prune_batch',
    namespace: 'bulk',
    summary: 'Shorten many texts at once, all of them or none.',
    description:
      `prune_text for 1 to ${MAX_ENTRIES} texts in one call. All entries are checked before any is done, and their ` +
      'originals are kept together or not at all. Returns JSON: results, one for each entry in order, each as prune_text gives it.',
    flag: BULK_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true },
    input,
    async run({ entries }, { signal, chargeTexts }) {
      await chargeTexts?.(entries.length);
      const results = await pruner.pruneAll(entries.map(toInput), signal);
      return { results: results.map(toWire) };
    },
  });
}
