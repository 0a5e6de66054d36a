import { z } from 'zod';
import type { BulkPruner } from '../../core/calls/api.ts';
import { defineTool, type Tool } from '../tool.ts';
import { boundedList } from '../tool-input.ts';
import { pruneTextInput, toInput, toWire } from './prune-text.ts';

export const BULK_FLAG = '--enable-bulk';
/** Maximum number of entries per call. */
export const MAX_ENTRIES = 100;

const input = z.strictObject({ entries: boundedList(pruneTextInput, MAX_ENTRIES, 1) });

/** `prune_batch`: `prune_text` for many texts, all of them or none. */
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
