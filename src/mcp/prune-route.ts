import { isUtf8 } from 'node:buffer';
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import { z } from 'zod';
import type { FailureReporter } from '../base/failures.ts';
import type { Pruner, PruneTextOptions, PruneTextResult } from '../core/calls/api.ts';
import { type CodedRow, type ErrorCode, errorRow, PrunerError } from '../errors/errors.ts';
import { exceededBound, type JsonBounds } from '../wires/json/bounds.ts';
import { parsed } from '../wires/json/value.ts';
import { boundedBody } from './bounded-body.ts';
import { jsonBytes, readFailure, writeJson } from './http-json.ts';
import type { RpcRouterDeps } from './rpc-routes.ts';
import { describeIssues } from './tool.ts';
import { toWire } from './tools/prune-text.ts';

interface PruneRouterDeps {
  readonly pruner: Pruner;
  /** Options of every call; the contract itself has none. */
  readonly options: PruneTextOptions;
  /** Largest request body after decompression. */
  readonly maxBodyBytes: number;
  readonly onResult?: (result: PruneTextResult) => void;
  /** See `RpcRouterDeps`. */
  readonly chargeTexts?: RpcRouterDeps['chargeTexts'];
  /** Called on a bug; the client received a 500. */
  readonly onFailure?: FailureReporter;
}

/** Limits for a body: the contract has two strings and a few options. */
const BOUNDS: JsonBounds = { values: 10_000, levels: 100 };

/** the reference model's `threshold` and other options are ignored */
const body = z.looseObject({ code: z.string(), query: z.string() });

/**
 * `POST /prune`: this product behind the contract of a swe-pruner service (`{code, query}` in, `{pruned_code, …}` out),
 * with marked and recoverable cuts. Mount it behind `localGuard`.
 */
export function pruneRouter(deps: PruneRouterDeps): Router {
  const router = express.Router();
  const { maxBodyBytes } = deps;
  const body = boundedBody({ maxBodyBytes, refuse: (res) => refuse(res, 'too_many_uploads') });
  router.post('/', body, (req: Request, res: Response) => prune(deps, req, res));
  router.all('/', (_req, res) => {
    res.setHeader('Allow', 'POST');
    refuse(res, 'method_not_allowed');
  });
  router.use(onError(deps));
  return router;
}

async function prune(
  { pruner, options, onResult, chargeTexts }: PruneRouterDeps,
  req: Request,
  res: Response,
): Promise<void> {
  const bytes = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const exceeded = await exceededBound(bytes, BOUNDS);
  if (exceeded !== null) {
    return refuse(res, 'body_too_complex', `The body has more than ${BOUNDS[exceeded]} ${exceeded}.`);
  }
  const json = readJson(bytes);
  if (json === undefined) {
    return refuse(res, 'invalid_json');
  }
  const read = body.safeParse(json);
  if (!read.success) {
    const issues = describeIssues(read.error);
    const detail = issues.map(({ field, message }) => ({
      type: 'value_error',
      loc: field === 'arguments' ? ['body'] : ['body', field],
      msg: message,
    }));
    const said = issues.map(({ field, message }) => `${field === 'arguments' ? 'body' : field}: ${message}`).join('; ');
    return refuse(res, 'invalid_request', said, detail);
  }
  await chargeTexts?.(req, 1);
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  const { code, query } = read.data;
  const result = await pruner.pruneText({ text: code, goalHint: query, options }, gone.signal);
  onResult?.(result);
  send(res, 200, answerOf(result));
}

function readJson(bytes: Buffer): unknown {
  return isUtf8(bytes) ? parsed(bytes.toString('utf8')) : undefined;
}

/** The contract's fields come first; its clients ignore further fields. */
function answerOf(result: PruneTextResult): object {
  const { pruned_text, ...further } = toWire(result);
  return {
    pruned_code: pruned_text,
    score: 1, // the caller has already judged the text as a whole to be relevant
    token_scores: [],
    kept_frags: keptLineNumbers(result),
    origin_token_cnt: result.stats.tokensEstBefore,
    left_token_cnt: result.stats.tokensEstAfter,
    model_input_token_cnt: 0,
    error_msg: null,
    ...further,
  };
}

/** Numbers of the kept lines; empty for texts that are too large to be read, which may have millions of lines. */
function keptLineNumbers({ annotations, stats, warnings }: PruneTextResult): number[] {
  if (warnings.includes('input_too_large')) return [];
  const kept: number[] = [];
  let line = 1;
  for (const { startLine, endLine } of annotations) {
    while (line < startLine) kept.push(line++);
    line = endLine + 1;
  }
  while (line <= stats.originalLines) kept.push(line++);
  return kept;
}

/** @param detail - location of each error, in the contract's format */
function refuse(
  res: Response,
  code: ErrorCode | CodedRow,
  message: string = errorRow(code).hint,
  detail?: readonly object[],
): void {
  const row = errorRow(code);
  send(res, row.http ?? 500, { error: { message, type: row.code }, detail: detail ?? message });
}

function send(res: Response, status: number, json: object): void {
  if (!res.destroyed) writeJson(res, status, jsonBytes(json));
}

function onError({ maxBodyBytes, onFailure }: PruneRouterDeps): ErrorRequestHandler {
  return (cause: unknown, _req, res, _next) => {
    if (cause instanceof PrunerError && typeof cause.data.retry_after_ms === 'number') {
      res.setHeader('Retry-After', String(Math.ceil(cause.data.retry_after_ms / 1000)));
      return refuse(res, cause.row);
    }
    const { type, status } = readFailure(cause);
    if (type === 'entity.too.large') {
      return refuse(res, 'body_too_large', `The body is larger than ${maxBodyBytes} bytes.`);
    }
    if (type === 'encoding.unsupported') {
      return refuse(res, 'unsupported_encoding');
    }
    if (status >= 400 && status < 500) return refuse(res, 'unreadable_body');
    onFailure?.('internal_error', cause);
    refuse(res, 'internal_error', 'Internal error.');
  };
}
