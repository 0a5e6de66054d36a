import { z } from 'zod';
import { clip, isObject, type JsonObject, type ParamIssue } from './json-rpc.ts';

const MAX_ISSUES = 10;

/** The JSON Schema of a tool's input for `tools/list`, without additions by zod. */
export function renderInputSchema(input: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override: ({ jsonSchema }) => {
      const { shownAs } = jsonSchema;
      if (isObject(shownAs)) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, shownAs);
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema;
}

/** Replaces a part of the listed schema by a shorter one: models pay for each token. */
export function shown<Schema extends z.ZodType>(schema: Schema, shownAs: JsonObject): Schema {
  return schema.meta({ shownAs });
}

/** An integer of any size, unlike `z.int()`: "to the end" is often written as a huge number. */
export const integer = z
  .number()
  .refine(Number.isInteger, { error: 'Invalid input: expected an integer' })
  .meta({ type: 'integer' });

/** A list whose length is checked before its members, so that a million invalid ones cost nothing. */
export function boundedList<Item>(item: z.ZodType<Item>, most: number, least = 0): z.ZodType<Item[]> {
  const list = least > 0 ? z.array(item).min(least).meta({ maxItems: most }) : z.array(item);
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= most) return value;
    context.addIssue({ code: 'custom', message: `Too big: expected at most ${most} items` });
    return z.NEVER;
  }, list);
}

/** The problems of a call's arguments by field; never contains values. */
export function describeIssues(error: z.ZodError): ParamIssue[] {
  const issues: ParamIssue[] = [];
  for (const issue of error.issues.slice(0, MAX_ISSUES)) {
    const field = fieldName(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      issues.push({ field: field || 'arguments', message: issue.message });
      continue;
    }
    for (const key of issue.keys.slice(0, MAX_ISSUES)) {
      issues.push({ field: clip(field ? `${field}.${key}` : key), message: 'Unrecognized key' });
    }
  }
  return issues.slice(0, MAX_ISSUES);
}

/** `['ranges', 0, 'end_line']` as `ranges[0].end_line`. */
function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    return name === '' ? String(key) : `${name}.${String(key)}`;
  }, '');
}
