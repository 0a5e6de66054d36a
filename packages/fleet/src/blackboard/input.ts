import { z } from 'zod';
import { id, ttl } from '../graph/input.ts';

export const writeInput = z.strictObject({
  key: id,
  value: z.unknown(),
  tags: z.array(z.string().min(1).max(200)).max(16).default([]),
  ttl_ms: ttl,
});
export const queryInput = z.strictObject({
  keys: z.array(id).max(64).optional(),
  tags: z.array(z.string().min(1).max(200)).max(16).optional(),
  namespace: id.optional(),
  limit: z.int().min(1).max(100).default(25),
  cursor: z
    .string()
    .regex(/^\d{1,15}$/, { error: 'expected the next_cursor of an answer' })
    .optional(),
});
export const watchInput = z.strictObject({
  start_version: z.int().min(0).default(0),
  limit: z.int().min(1).max(200).default(100),
  namespace: id.optional(),
  wait_ms: z.int().min(0).max(30_000).optional(),
});
