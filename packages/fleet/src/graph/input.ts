import { z } from 'zod';

/** Any id: 1 to 200 printable characters. */
export const id = z
  .string()
  .min(1)
  .max(200)
  .refine((text) => text.isWellFormed() && !/\p{Cc}/u.test(text), { error: 'control characters are not allowed' });

/** A duration of at most a day, in milliseconds. */
export const ttl = z.int().min(1).max(86_400_000).optional();

/** Correlation of a call, which its events carry. */
export const hintFields = {
  run_id: id.optional(),
  op_id: id.optional(),
  job_id: id.optional(),
  graph_id: id.optional(),
  node_id: id.optional(),
  child_id: id.optional(),
};

/** Names inherited or treated specially by JavaScript objects. */
const RESERVED = new Set(['__proto__', 'constructor', 'prototype']);

/** Whether a text can be the key of an attribute. */
export function isKey(key: string): boolean {
  return key !== '' && key.length <= 200 && !RESERVED.has(key);
}

const key = z
  .string()
  .min(1)
  .max(200)
  .refine((name) => !RESERVED.has(name), { error: 'this key is reserved' });
const scalar = z.union([z.string(), z.number(), z.boolean()]);
export const attributes = z.record(key, scalar);

const label = z.string().max(1000).optional();
export const nodeInput = z.strictObject({ id, label, attributes: attributes.optional() });
export const edgeInput = z.strictObject({
  from: id,
  to: id,
  label,
  weight: z.number().min(0).optional(),
  attributes: attributes.optional(),
});

/** A graph as written by clients: in any order, with optional parts. */
export const descriptor = z.strictObject({
  graph_id: id.optional(),
  graph_version: z.int().min(0).optional(),
  name: z.string().min(1).max(200).optional(),
  nodes: z.array(nodeInput).max(10_000),
  edges: z.array(edgeInput).max(50_000).default([]),
  metadata: attributes.optional(),
});

const value = z.union([scalar, z.null()]);

/** One change of a graph. `value: null` removes the named field. */
const operation = z.discriminatedUnion('op', [
  z.strictObject({ op: z.literal('add_node'), node: nodeInput }),
  z.strictObject({ op: z.literal('remove_node'), id }),
  z.strictObject({ op: z.literal('rename_node'), id, new_id: id }),
  z.strictObject({ op: z.literal('add_edge'), edge: edgeInput }),
  z.strictObject({ op: z.literal('remove_edge'), from: id, to: id }),
  z.strictObject({ op: z.literal('set_node_attribute'), id, key, value }),
  z.strictObject({ op: z.literal('set_edge_attribute'), from: id, to: id, key, value }),
]);
export const operations = z.array(operation).min(1).max(200);

export type Scalar = z.infer<typeof scalar>;
export type Attributes = Readonly<Record<string, Scalar>>;
export type NodeInput = z.infer<typeof nodeInput>;
export type EdgeInput = z.infer<typeof edgeInput>;
export interface GraphDescriptor extends Omit<z.infer<typeof descriptor>, 'nodes' | 'edges'> {
  readonly nodes: readonly NodeInput[];
  readonly edges: readonly EdgeInput[];
}
export type GraphOperation = z.infer<typeof operation>;
