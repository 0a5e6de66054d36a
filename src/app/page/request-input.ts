import type { Request } from 'express';
import { z } from 'zod';

/** A request with an invalid field, which the message names. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
}

/** A prune id as in markers. */
export const pruneId = z.string().regex(/^prn_[0-9A-Za-z]{12}$/, 'is not a prune id');
/** A whole number in a query. */
export const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Names of conversations and projects. */
export const name = z.string().min(1).max(500);

/** Reads the query of a request. @throws InvalidRequest */
export function queryOf<T>(req: Request, schema: z.ZodType<T>): T {
  return validated(schema, Object.fromEntries(new URLSearchParams(searchOf(req.url))));
}

/** Reads the body of an action. @throws InvalidRequest */
export function bodyOf<T>(req: Request, schema: z.ZodType<T>): T {
  return validated(schema, req.body);
}

function searchOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
}

function validated<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new InvalidRequest(`${issue?.path.join('.') || 'the request'}: ${issue?.message ?? 'does not fit'}`);
}
