import { isUtf8 } from 'node:buffer';
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { TellFailure } from '../failures.ts';
import { invalidRequest, unreadable } from './envelope.ts';
import { failure, type Reply, RpcError, rpcCodes } from './json-rpc.ts';
import type { ClientOptions, McpServer } from './server.ts';
import { toWireError } from './wire-error.ts';

export interface RpcRouterDeps {
  readonly server: McpServer;
  /** Largest request body after decompression. Must leave room for a text of any allowed size, escapes included. */
  readonly maxBodyBytes: number;
  /** A bug outside any call, such as an answer that cannot be written; the client got -32603. */
  readonly onFailure?: TellFailure;
}

/**
 * `POST /rpc`: plain JSON-RPC 2.0, and at the same time a Streamable HTTP endpoint of MCP without sessions. What an
 * answer says is in its body: every JSON-RPC answer is a 200, because MCP clients lose the code of an error that comes
 * with another status. `/rpc?tools=recover_text,health` shows these tools alone. Mount it behind `localGuard`.
 */
export function rpcRouter({ server, maxBodyBytes, onFailure }: RpcRouterDeps): Router {
  const router = express.Router();
  // any content type, and none: only what the body holds counts
  router.post('/', express.raw({ type: () => true, limit: maxBodyBytes }), (req, res) => exchange(server, req, res));
  router.all('/', (_req, res) => {
    res.setHeader('Allow', 'POST');
    send(res, 405, failure(null, invalidRequest('this endpoint takes POST only')));
  });
  router.use(onError(maxBodyBytes, onFailure));
  return router;
}

async function exchange(server: McpServer, req: Request, res: Response): Promise<void> {
  const body: unknown = req.body;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  if (!isUtf8(bytes)) return send(res, 200, failure(null, unreadable()));

  const connection = server.connect(askedTools(req.url));
  res.once('close', () => connection.close()); // a client that hangs up no longer needs its answer
  const reply = await connection.receive(withoutBom(bytes.toString('utf8')));
  if (reply !== null) return send(res, 200, reply);
  if (!res.destroyed) res.status(202).end();
}

/** The tools that `?tools=` names, with commas between. */
function askedTools(url: string): ClientOptions {
  const at = url.indexOf('?');
  const asked = at < 0 ? [] : new URLSearchParams(url.slice(at)).getAll('tools');
  if (asked.length === 0) return {};
  return { tools: asked.flatMap((list) => list.split(',')).map((name) => name.trim()) };
}

function send(res: Response, status: number, reply: Reply | readonly Reply[]): void {
  if (res.destroyed) return;
  // not res.json: its ETag would hash megabytes that nobody caches
  const body = Buffer.from(JSON.stringify(reply), 'utf8');
  res.statusCode = status;
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', body.length);
  res.end(body);
}

function withoutBom(text: string): string {
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
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

function readFailure(cause: unknown): { readonly type: unknown; readonly status: number } {
  if (!(cause instanceof Error)) return { type: undefined, status: 500 };
  const type = 'type' in cause ? cause.type : undefined;
  const status = 'status' in cause && typeof cause.status === 'number' ? cause.status : 500;
  return { type, status };
}
