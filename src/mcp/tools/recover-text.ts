import { z } from 'zod';
import type { BulkPruner, Pruner, RecoverInput } from '../../core/calls/api.ts';
import { readPruneReference } from '../../core/calls/prune-reference.ts';
import { boundedList, defineTool, integer, type Tool } from '../tool.ts';
import { BULK_FLAG, MAX_ENTRIES } from './prune-text.ts';

/** More than the number of cuts in any text; limits the work of one call. */
const MAX_RANGES = 10_000;

// The listed minimum is 1, but smaller numbers must reach the range check with its own error (invalid_range). Numbers
// as strings, as sometimes written by models, are accepted; the listed schema stays an integer.
const line = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value),
  integer.meta({ minimum: 1 }),
);

const recoverTextInput = z.strictObject({
  prune_id: z.string(),
  ranges: boundedList(z.strictObject({ start_line: line, end_line: line }), MAX_RANGES),
  include_line_numbers: z.boolean(),
});

export function recoverTextTool(pruner: Pruner): Tool {
  return defineTool({
    name: 'recover_text',
    aliases: ['recover_range'],
    namespace: 'pruner',
    summary: 'Return original lines that a marker hides.',
    description:
      'Return original lines that a marker "⟦PRUNÉ: prune_id=<id> lignes <start>-<end> …⟧" hides: any ranges, 1-based, ' +
      'inclusive. include_line_numbers puts "<number>│ " before each line; false gives the exact text. ' +
      'Returns JSON: raw_text, metadata. If the prune_id is not found, read the source again.',
    annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint: false },
    input: recoverTextInput,
    async run(args) {
      const input = toRecoverInput(args);
      if (input.ranges.length > 0) return toRecovered(input, await pruner.recover(input));
      const { raw_text, metadata } = toRecovered(input, '');
      return { raw_text, metadata: { ...metadata, lines: await pruner.lineCount(input.pruneId) } };
    },
  });
}

type Input = z.infer<typeof recoverTextInput>;

/** Converts the arguments to the core's input. A marker pasted as the id selects the marker's lines. */
function toRecoverInput({ prune_id, ranges, include_line_numbers }: Input): RecoverInput {
  const { pruneId, range } = readPruneReference(prune_id);
  const given = ranges.map(({ start_line, end_line }) => ({ startLine: start_line, endLine: end_line }));
  return { pruneId, ranges: given.length === 0 && range !== null ? [range] : given, numbered: include_line_numbers };
}

function toRecovered({ pruneId, ranges }: RecoverInput, rawText: string) {
  const served = ranges.map(({ startLine, endLine }) => ({ start_line: startLine, end_line: endLine }));
  return { raw_text: rawText, metadata: { prune_id: pruneId, ranges: served, line_numbering: 'original' } };
}

const input = z.strictObject({ entries: boundedList(recoverTextInput, MAX_ENTRIES, 1) });

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
