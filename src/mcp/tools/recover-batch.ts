import { z } from 'zod';
import type { BulkPruner } from '../../core/calls/api.ts';
import { defineTool, type Tool } from '../tool.ts';
import { boundedList } from '../tool-input.ts';
import { BULK_FLAG, MAX_ENTRIES } from './prune-batch.ts';
import { recoverTextInput, toRecovered, toRecoverInput } from './recover-text.ts';

const input = z.strictObject({ entries: boundedList(recoverTextInput, MAX_ENTRIES, 1) });

/** `recover_batch`: `recover_text` for many ids, all of them or none. */
export function recoverBatchTool(pruner: BulkPruner): Tool {
  return defineTool({
    name: 'recover_batch',
    namespace: 'bulk',
    summary: 'Return the original lines behind many markers at once.',
    description:
      `recover_text for 1 to ${MAX_ENTRIES} markers in one call. If one of them cannot be recovered, none is returned and the ` +
      'error names its index. Returns JSON: results, one for each entry in order, each as recover_text gives it.',
    flag: BULK_FLAG,
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input,
    async run({ entries }) {
      const inputs = entries.map(toRecoverInput);
      const texts = await pruner.recoverAll(inputs);
      return { results: inputs.map((input, i) => toRecovered(input, texts[i] ?? '')) };
    },
  });
}
