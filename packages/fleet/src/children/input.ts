import { z } from 'zod';

const KIB = 1024;
const MAX_METADATA_CHARS = 16 * KIB;
const MAX_VARIABLES = 32;

const count = z.int().min(0);
const positive = z.int().positive();
const dollars = z.number().positive();
const percent = z.number().min(1);

function isNamed(limits: object): boolean {
  return Object.keys(limits).length > 0;
}
const NONE_NAMED = { error: 'name at least one limit' };

const limits = z
  .strictObject({
    messages: count.optional(),
    tokens: count.optional(),
    cost_usd: dollars.optional(),
    wallclock_ms: positive.optional(),
    memory_mb: positive.optional(),
    cpu_percent: percent.optional(),
  })
  .refine(isNamed, NONE_NAMED);

/** Changes of limits: `null` resets one to its default. */
export const limitChanges = z
  .strictObject({
    messages: count.nullable().optional(),
    tokens: count.nullable().optional(),
    cost_usd: dollars.nullable().optional(),
    wallclock_ms: positive.nullable().optional(),
    memory_mb: positive.nullable().optional(),
    cpu_percent: percent.nullable().optional(),
  })
  .refine(isNamed, NONE_NAMED);

export const role = z.string().min(1).max(120);

export const childFields = {
  agent: z.string().min(1).max(200).optional(),
  command: z.string().min(1).max(4096).optional(),
  args: z
    .array(z.string().max(32 * KIB))
    .max(64)
    .optional(),
  prompt: z
    .string()
    .max(256 * KIB)
    .optional(),
  model: z.string().min(1).max(200).optional(),
  cwd: z.string().min(1).max(4096).optional(),
  env: z
    .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(32 * KIB))
    .refine((value) => Object.keys(value).length <= MAX_VARIABLES, { error: `at most ${MAX_VARIABLES} variables` })
    .optional(),
  role: role.optional(),
  limits: limits.optional(),
  metadata: z
    .record(z.string().max(200), z.unknown())
    .refine((value) => JSON.stringify(value).length <= MAX_METADATA_CHARS, {
      error: `at most ${MAX_METADATA_CHARS} characters of JSON`,
    })
    .optional(),
};
