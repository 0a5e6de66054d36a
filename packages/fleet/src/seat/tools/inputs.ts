import type { ToolAnnotations, ToolContext } from 'mcp-pruner/mcp/tool.ts';
import { z } from 'zod';
import type { Caller } from '../../ports.ts';

const HERE = { openWorldHint: false } as const;

/** Read-only. */
export const READS: ToolAnnotations = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, ...HERE };

/** Adds something on each call. */
export const ADDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: false, ...HERE };

/** Sets a reversible value; repeating it has no further effect. */
export const SETS: ToolAnnotations = { readOnlyHint: false, destructiveHint: false, idempotentHint: true, ...HERE };

/** Replaces existing content; repeating it is another change. */
export const REPLACES: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, ...HERE };

/** Ends or removes something; repeating it has no further effect. */
export const ENDS: ToolAnnotations = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, ...HERE };

/** Starts programs, or calls arbitrary tools on request. */
export const STARTS: ToolAnnotations = {
  readOnlyHint: false,
  destructiveHint: true,
  idempotentHint: false,
  openWorldHint: true,
};

/** Any id: 1 to 200 printable characters. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), { error: 'control characters are not allowed' });

/** Correlation of a call, which its events carry. */
export const hintFields = {
  run_id: id.optional(),
  op_id: id.optional(),
  job_id: id.optional(),
  graph_id: id.optional(),
  node_id: id.optional(),
  child_id: id.optional(),
};

export const DAY_MS = 86_400_000;
export const ttl = z.int().min(1).max(DAY_MS).optional();
export const owner = z.string().trim().min(1).max(120).optional();
export const note = z.string().trim().min(1).max(240).optional();

const NOBODY: Caller = { childId: null };

export function callerOf({ caller }: ToolContext): Caller {
  return caller ?? NOBODY;
}

const key = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !['__proto__', 'constructor', 'prototype'].includes(name), { error: 'this key is reserved' });

/** Attributes of an element: strings, finite numbers and booleans. Names inherited by every object are not allowed. */
export const attributes = z.record(key, z.union([z.string(), z.number(), z.boolean()]));

const label = z.string().max(1000).optional();
export const nodeInput = z.strictObject({ id, label, attributes: attributes.optional() });
export const edgeInput = z.strictObject({
  from: id,
  to: id,
  label,
  weight: z.number().min(0).optional(),
  attributes: attributes.optional(),
});

export const descriptor = z.strictObject({
  graph_id: id.optional(),
  graph_version: z.int().min(0).optional(),
  name: z.string().min(1).max(200).optional(),
  nodes: z.array(nodeInput).max(10_000),
  edges: z.array(edgeInput).max(50_000).default([]),
  metadata: attributes.optional(),
});

const value = z.union([z.string(), z.number(), z.boolean(), z.null()]);

export const operations = z
  .array(
    z.discriminatedUnion('op', [
      z.strictObject({ op: z.literal('add_node'), node: nodeInput }),
      z.strictObject({ op: z.literal('remove_node'), id }),
      z.strictObject({ op: z.literal('rename_node'), id, new_id: id }),
      z.strictObject({ op: z.literal('add_edge'), edge: edgeInput }),
      z.strictObject({ op: z.literal('remove_edge'), from: id, to: id }),
      z.strictObject({ op: z.literal('set_node_attribute'), id, key, value }),
      z.strictObject({ op: z.literal('set_edge_attribute'), from: id, to: id, key, value }),
    ]),
  )
  .min(1)
  .max(200);
