import type { RequestListener } from 'node:http';
import express, { type ErrorRequestHandler, type Request, type Response } from 'express';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { type CodedRow, type ErrorCode, errorRow, storeReason } from 'mcp-pruner/errors/errors.ts';
import { z } from 'zod';
import { keyError } from '../keys/errors.ts';
import { type AdminRoute, openApi } from './routes.ts';

const MAX_BODY = '2mb';

export function adminRouter(
  routes: readonly AdminRoute[],
  version: string,
  onFailure: FailureReporter,
): RequestListener {
  const router = express().disable('x-powered-by');
  router.use(express.json({ limit: MAX_BODY, type: () => true }));
  const document = openApi(routes, version);
  router.get('/openapi.json', (_req, res) => void res.json(document));
  for (const route of routes) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router[route.method](path, (req, res) => {
      answer(route, req, res).catch((cause: unknown) => {
        if (storeReason(cause) !== null) refuse(res, keyError('keys_unavailable'));
        else refuse(res, 'internal_error');
        onFailure(storeReason(cause) ?? 'internal_error', cause);
      });
    });
  }
  router.use((req, res) =>
    refuse(res, 'not_found', `Nothing at ${req.method} ${req.baseUrl}${req.path}: see ${req.baseUrl}/openapi.json.`),
  );
  const onBroken: ErrorRequestHandler = (cause: Error & { status?: number }, req, res, _next) => {
    const isTooLarge = cause.status === 413;
    const message = isTooLarge ? `The body exceeds ${MAX_BODY}.` : `The request cannot be read: ${cause.message}`;
    refuse(res, 'invalid_request', `${message} (see ${req.baseUrl}/openapi.json)`, isTooLarge ? 413 : 400);
  };
  router.use(onBroken);
  return router;
}

async function answer(route: AdminRoute, req: Request, res: Response): Promise<void> {
  const query = (route.query ?? z.strictObject({})).safeParse(req.query);
  const body = (route.body ?? z.unknown()).safeParse(req.body ?? {});
  const error = query.error ?? body.error;
  if (error) return refuse(res, 'invalid_request', `${z.prettifyError(error)} (see ${req.baseUrl}/openapi.json)`);
  const params = Object.fromEntries(Object.entries(req.params).map(([name, value]) => [name, String(value)]));
  const result = await route.handle({ params, query: query.data, body: body.data });
  if ('refused' in result) {
    const { refused, message } = result;
    return refused === 'not_found' ? refuse(res, 'not_found', message) : refuse(res, 'invalid_request', message, 409);
  }
  res.status(result.status).json(result.body);
}

function refuse(
  res: Response,
  code: ErrorCode | CodedRow,
  message: string = errorRow(code).hint,
  status?: number,
): void {
  const row = errorRow(code);
  res.status(status ?? row.http ?? 500).json({ error: { type: row.code, message } });
}
