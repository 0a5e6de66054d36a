import type { Request, RequestHandler, Response } from 'express';
import { z } from 'zod';
import type { FailureReporter } from '../../base/failures.ts';
import { type CodedRow, type ErrorCode, errorRow, PrunerError, storeReason } from '../../errors/errors.ts';

/** A request with an invalid field, which the message names. */
export class InvalidRequest extends Error {
  override readonly name = 'InvalidRequest';
}

/** A prune id, as in markers. */
export const pruneId = z.string().regex(/^prn_[0-9A-Za-z]{12}$/, 'is not a prune id');
/** A whole number in a query. */
export const count = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
/** Names of conversations and projects. */
export const name = z.string().min(1).max(500);

/** Parses the query of a request. @throws InvalidRequest */
export function queryOf<T>(req: Request, schema: z.ZodType<T>): T {
  return validated(schema, Object.fromEntries(new URLSearchParams(searchOf(req.url))));
}

/** Parses the body of an action. @throws InvalidRequest */
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

/**
 * Headers of all page answers. They allow only the page's own scripts and connections, and forbid framing, MIME
 * sniffing and referrers.
 */
const HEADERS: Readonly<Record<string, string>> = {
  'Content-Security-Policy':
    "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; object-src 'none'",
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
};

export function securityHeaders(res: Response): void {
  for (const [name, value] of Object.entries(HEADERS)) res.setHeader(name, value);
}

/** Refuses a request with an entry of the error table. */
export function refuse(
  res: Response,
  code: ErrorCode | CodedRow,
  message: string = errorRow(code).hint,
  status?: number,
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const row = errorRow(code);
  res.status(status ?? row.http ?? 500).json({ error: { type: row.code, message } });
}

/** Thrown to refuse a request with an entry of the error table. */
export class Refused extends Error {
  override readonly name = 'Refused';

  /** @param message - overrides the table's hint */
  constructor(
    readonly code: ErrorCode,
    message?: string,
  ) {
    super(message ?? errorRow(code).hint);
  }
}

/** A handler that answers with JSON. */
export type Answer = (req: Request, res: Response) => Promise<object> | object;

/**
 * Sends the result of `answer`. Errors map to a status: 503 if the store is unavailable, 404 if something is not found,
 * 422 for an invalid request, otherwise 500 with a call to `onFailure`.
 */
export function answering(answer: Answer, onFailure: FailureReporter): RequestHandler {
  return async (req, res) => {
    try {
      const value = await answer(req, res);
      if (!res.headersSent && !res.destroyed) send(res, value);
    } catch (cause) {
      if (cause instanceof InvalidRequest) refuse(res, 'invalid_request', cause.message);
      else if (cause instanceof Refused) refuse(res, cause.code, cause.message);
      else if (storeReason(cause) !== null) refuse(res, 'store_unavailable', undefined, 503);
      else if (cause instanceof PrunerError) refuse(res, cause.row, hintOf(cause), statusOf(cause));
      else {
        onFailure('internal_error', cause);
        refuse(res, 'internal_error');
      }
    }
  };
}

/** Sends JSON without `res.json`, whose ETag would hash answers that are never cached. */
function send(res: Response, value: object): void {
  const body = Buffer.from(JSON.stringify(value));
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.setHeader('Content-Length', body.length);
  res.end(body);
}

function hintOf({ row, details }: PrunerError): string {
  return typeof details.hint === 'string' ? details.hint : row.hint;
}

function statusOf({ code }: PrunerError): number {
  if (code === 'store_unavailable' || code === 'recovery_unavailable') return 503;
  return code === 'invalid_range' ? 422 : 404;
}
