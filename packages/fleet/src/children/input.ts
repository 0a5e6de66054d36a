import { z } from 'zod';
import { hintFields, id } from '../graph/input.ts';

const KIB = 1024;
const MAX_METADATA_CHARS = 16 * KIB;
const MAX_VARIABLES = 32;

const limitFields = {
  messages: z.int().min(0),
  tokens: z.int().min(0),
  cost_usd: z.number().positive(),
  wallclock_ms: z.int().positive(),
  memory_mb: z.int().positive(),
  cpu_percent: z.number().min(1),
};
export type LimitKey = keyof typeof limitFields;
export const LIMIT_KEYS = Object.keys(limitFields) as readonly LimitKey[];
const nullable = Object.fromEntries(
  Object.entries(limitFields).map(([key, field]) => [key, field.nullable()]),
) as Record<LimitKey, z.ZodNullable<z.ZodNumber>>;

const isNamed = (limits: object): boolean => Object.keys(limits).length > 0;
const NONE_NAMED = { error: 'name at least one limit' };

const limits = z.strictObject(limitFields).partial().refine(isNamed, NONE_NAMED);

/** Changes of limits: `null` resets one to its default. */
export const limitChanges = z.strictObject(nullable).partial().refine(isNamed, NONE_NAMED);

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

const { child_id, ...createHints } = hintFields;

export const createInput = z.strictObject({
  child_id,
  ...childFields,
  start: z.boolean().default(true),
  ...createHints,
});

export const spawnInput = z.strictObject({
  child_id: id,
  manifest_path: z.string().min(1).max(4096).default('codex.json'),
  role: childFields.role,
  limits: childFields.limits,
  ...createHints,
  child_id_hint: id.optional(),
});
