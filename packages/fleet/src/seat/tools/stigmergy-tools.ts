import { defineTool, type Tool } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import { ttl } from '../../graph/input.ts';
import { mark, type Stigmergy } from '../../stigmergy/stigmergy.ts';
import { ADDS, callerOf, READS, REPLACES } from './inputs.ts';

const family = { namespace: 'stigmergy', faces: ['rpc'] as const, flag: '--enable-stigmergy' };

export function stigmergyTools(field: Stigmergy): Tool[] {
  return [
    defineTool({
      ...family,
      name: 'stig_mark',
      annotations: ADDS,
      summary: 'Leave a pheromone at a node.',
      description:
        'Add intensity to the pheromone of a type at a node, such as busy, done or hot. Returns JSON: point, node_total.',
      input: mark,
      async run(input, context) {
        const [change] = await field.mark([input], callerOf(context));
        return change ?? {};
      },
    }),
    defineTool({
      ...family,
      name: 'stig_decay',
      annotations: REPLACES,
      summary: 'Let pheromones fade.',
      description:
        'Let every pheromone fade by the time since its last change, by half per half_life_ms; nothing fades by itself.',
      input: z.strictObject({ half_life_ms: ttl }),
      run: ({ half_life_ms }, context) => field.decay(half_life_ms, callerOf(context)),
    }),
    defineTool({
      ...family,
      name: 'stig_snapshot',
      annotations: READS,
      summary: 'Show all pheromones.',
      description: 'All pheromones, strongest first. Returns JSON: generated_at, points, totals (sum of each node).',
      input: z.strictObject({}),
      run: () => field.snapshot(),
    }),
  ];
}

export function stigmergyBatchTool(field: Stigmergy): Tool {
  return defineTool({
    ...family,
    name: 'stig_batch',
    annotations: ADDS,
    namespace: 'bulk',
    flag: '--enable-bulk',
    summary: 'Leave many pheromones, all or none.',
    description: 'stig_mark for 1 to 200 entries, all or none. Returns JSON: changes in order.',
    input: z.strictObject({ entries: z.array(mark).min(1).max(200) }),
    run: async ({ entries }, context) => ({ changes: await field.mark(entries, callerOf(context)) }),
  });
}
