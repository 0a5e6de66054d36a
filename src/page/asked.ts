import type { Request } from 'express';
import { z } from 'zod';

/** A request with an invalid field, which the message names. */
export class Unfit extends Error {
  override readonly name = 'Unfit';
}

/** A prune id as in markers. */
export const pruneId = z.string().regex(/^prn_[0-9A-Za-z]{12}$/, 'is no prune id');
/** A whole number in a query. */
export const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Names of conversations and projects. */
export const name = z.string().min(1).max(500);

/** Reads the query of a request. @throws Unfit */
export function queryOf<T>(req: Request, schema: z.ZodType<T>): T {
  return fitted(schema, Object.fromEntries(new URLSearchParams(searchOf(req.url))));
}

/** Reads the body of an action. @throws Unfit */
export function bodyOf<T>(req: Request, schema: z.ZodType<T>): T {
  return fitted(schema, req.body);
}

function searchOf(url: string): string {
  const at = url.indexOf('?');
  return at < 0 ? '' : url.slice(at);
}

function fitted<T>(schema: z.ZodType<T>, value: unknown): T {
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Unfit(`${issue?.path.join('.') || 'the request'}: ${issue?.message ?? 'does not fit'}`);
}
