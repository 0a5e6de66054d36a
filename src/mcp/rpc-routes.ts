import type { IncomingMessage } from 'node:http';
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { FailureReporter } from '../base/failures.ts';
import { PrunerError } from '../errors/errors.ts';
import { boundedBody } from './bounded-body.ts';
import { ByteBudget } from './byte-budget.ts';
import type { Answer } from './connection.ts';
import { invalidRequest, messageText } from './envelope.ts';
import { jsonBytes, readFailure, writeJson } from './http-json.ts';
import { failure, type Reply, RpcError, rpcCodes } from './json-rpc.ts';
import type { ClientOptions, McpServer } from './server.ts';
import type { ToolContext } from './tool.ts';
import { toWireError } from './wire-error.ts';

export interface RpcRouterDeps {
  readonly server: McpServer;
  /** Largest request body after decompression. Must have room for a text of any allowed size with JSON escapes. */
  readonly maxBodyBytes: number;
  /** Maximum number of bytes of answers not yet read by clients; default: 64 MiB. */
  readonly maxUnreadBytes?: number;
  /** Maximum number of bytes of bodies being received or processed; default: 64 MiB or twice the largest body. */
  readonly maxUploadBytes?: number;
  /** Counts texts to be pruned against the limits of the client's key. @throws PrunerError beyond them */
  readonly chargeTexts?: (req: IncomingMessage, texts: number) => Promise<void>;
  /** The project and the task of a request. */
  readonly scopeOf?: (req: IncomingMessage) => NonNullable<ToolContext['scope']>;
  /** Reports a bug outside any call, such as an answer that cannot be written; the client received -32603. */
  readonly onFailure?: FailureReporter;
}

const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Idle time after which a client that does not read its answer is disconnected, in milliseconds. */
const UNREAD_MS = 120_000;

/**
 * `POST /rpc`: plain JSON-RPC 2.0, and also a sessionless Streamable HTTP endpoint of MCP. Every answer to a body that
 * could be read has status 200, because MCP clients lose the error code of answers with other statuses.
 * `/rpc?tools=recover_text,health` offers only these tools. Mount it behind `localGuard`.
 */
export function rpcRouter(deps: RpcRouterDeps): Router {
  const { maxBodyBytes, maxUnreadBytes, maxUploadBytes, onFailure } = deps;
  const router = express.Router();
  const room = new ByteBudget(maxUnreadBytes ?? MAX_UNREAD_BYTES);
  const full = failure(null, toWireError(new PrunerError('too_many_uploads')));
  const body = boundedBody({
    maxBodyBytes,
    maxHeldBytes: maxUploadBytes,
    refuse: (res) => send(res, 503, full),
  });
  router.post('/', body, (req: Request, res: Response) => exchange(deps, room, req, res));
  router.all('/', (_req, res) => {
    res.setHeader('Allow', 'POST');
    send(res, 405, failure(null, invalidRequest('this endpoint takes POST only')));
  });
  router.use(onError(maxBodyBytes, onFailure));
  return router;
}

async function exchange(deps: RpcRouterDeps, room: ByteBudget, req: Request, res: Response): Promise<void> {
  const { server, chargeTexts, scopeOf } = deps;
  const body: unknown = req.body;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const text = await messageText(bytes);
  if (typeof text !== 'string') return send(res, 200, failure(null, text));

  const connection = server.connect({
    ...askedTools(req.url),
    scope: scopeOf?.(req),
    chargeTexts: chargeTexts && ((texts) => chargeTexts(req, texts)),
  });
  res.once('close', () => connection.close()); // a client that disconnects no longer needs its answer
  const reply = await connection.receive(text);
  if (reply !== null) return deliver(res, reply, room);
  if (!res.destroyed) res.status(202).end();
}

/** The tools in the comma-separated list of `?tools=`. */
function askedTools(url: string): ClientOptions {
  const at = url.indexOf('?');
  const toolLists = at < 0 ? [] : new URLSearchParams(url.slice(at)).getAll('tools');
  if (toolLists.length === 0) return {};
  return { tools: toolLists.flatMap((list) => list.split(',')).map((name) => name.trim()) };
}

/** Writes an answer within the budget, and releases its bytes once the client has read it or is gone. */
function deliver(res: Response, reply: Answer, room: ByteBudget): void {
  if (res.destroyed) return;
  const body = jsonBytes(reply);
  const release = room.take(body.length);
  if (release === null) {
    send(res, 200, unread(reply));
    return;
  }
  res.once('close', release);
  // drop a client that reads nothing for this long
  res.setTimeout(UNREAD_MS, () => res.destroy());
  writeJson(res, 200, body);
}

/** The error for each call whose answer exceeded the budget. */
function unread(reply: Answer): Answer {
  const failed = ({ id }: Reply): Reply => failure(id, toWireError(new PrunerError('answers_not_read')));
  return Array.isArray(reply) ? reply.map(failed) : failed(reply as Reply);
}

function send(res: Response, status: number, reply: Answer): void {
  if (!res.destroyed && !res.headersSent) writeJson(res, status, jsonBytes(reply));
}

/** Answers for a body that could not be read: too large (413), encoding unknown (415), compression broken (400). */
function onError(maxBodyBytes: number, onFailure: RpcRouterDeps['onFailure']): ErrorRequestHandler {
  return (cause: unknown, _req, res, _next) => {
    const { type, status } = readFailure(cause);
    if (type === 'entity.too.large') {
      const data = { code: 'body_too_large', limit_bytes: maxBodyBytes };
      return send(res, 413, failure(null, invalidRequest(`the body is larger than ${maxBodyBytes} bytes`, data)));
    }
    if (type === 'encoding.unsupported') {
      return send(res, 415, failure(null, invalidRequest('content-encoding must be gzip, deflate, br or identity')));
    }
    if (status >= 400 && status < 500) {
      return send(
        res,
        400,
        failure(null, new RpcError(rpcCodes.parseError, 'Parse error: the body could not be read')),
      );
    }
    onFailure?.('internal_error', cause);
    return send(res, 500, failure(null, toWireError(cause)));
  };
}
