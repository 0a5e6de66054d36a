import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import express, { type ErrorRequestHandler, type Request, type Response, type Router } from 'express';
import type { FailureReporter } from '../base/failures.ts';
import { PrunerError } from '../errors/errors.ts';
import { boundedBody } from './bounded-body.ts';
import type { Replies } from './connection.ts';
import { invalidRequest, type Message, messageText, readPayload } from './envelope.ts';
import { eraOf, isJson, NEW_ERA, type NewEraMessage, namesVersion } from './era.ts';
import { readFailure, replyBytes, writeEvent, writeJson } from './http-json.ts';
import { PROTOCOL_VERSIONS } from './initialize.ts';
import { failure, type Reply, RpcError, rpcCodes, toWireError } from './json-rpc.ts';
import { LongStep } from './long-step.ts';
import type { NewEraHttp } from './new-era.ts';
import type { ClientOptions, McpServer } from './server.ts';
import type { ToolContext } from './tool.ts';

/** Answers up to this size are always written: errors, and answers of most tools. */
const SMALL_BYTES = 64 * 1024;

/** @returns a function that releases the bytes, or `null` if the budget does not allow an answer of this size */
type AnswerBudget = (bytes: number) => (() => void) | null;

/**
 * Limits the bytes of answers that clients have not read yet. Each answer stays in memory until its client has read it;
 * all clients share the budget.
 *
 * @param maxBytes - maximum number of unread bytes; a larger answer is written only if no other one is pending
 */
function answerBudget(maxBytes: number): AnswerBudget {
  let held = 0;
  return (bytes) => {
    if (bytes > SMALL_BYTES && held > 0 && held + bytes > maxBytes) return null;
    held += bytes;
    let isHeld = true;
    return () => {
      if (isHeld) held -= bytes;
      isHeld = false;
    };
  };
}

export interface RpcRouterDeps {
  readonly server: McpServer;
  /** Largest request body after decompression. Must fit a JSON-escaped text of any allowed size. */
  readonly maxBodyBytes: number;
  /** Limit for answer bytes not yet read by clients. Default: 64 MiB. */
  readonly maxUnreadBytes?: number;
  /** Limit for body bytes being received or processed. Default: 64 MiB or twice the largest body. */
  readonly maxUploadBytes?: number;
  /** Charges texts to prune to the limits of the client's key. @throws PrunerError beyond them */
  readonly chargeTexts?: (req: IncomingMessage, texts: number) => Promise<void>;
  readonly scopeOf?: (req: IncomingMessage) => NonNullable<ToolContext['scope']>;
  /** Called on a bug outside any call, such as an answer that cannot be written; the client received -32603. */
  readonly onFailure?: FailureReporter;
}

const MAX_UNREAD_BYTES = 64 * 1024 * 1024;
/** Idle time after which a client that does not read its answer is disconnected, in milliseconds. */
const UNREAD_MS = 120_000;

interface Route {
  readonly deps: RpcRouterDeps;
  readonly takeBytes: AnswerBudget;
  /** Loads the SDK on first use. */
  readonly newEra: () => Promise<NewEraHttp>;
}

/**
 * `POST /rpc`: plain JSON-RPC 2.0, and also a sessionless Streamable HTTP endpoint of MCP. Readable bodies are always
 * answered with status 200, because MCP clients lose error codes with other statuses. New-era messages get the statuses
 * required by their protocol. `/rpc?tools=recover_text,health` offers only these tools. Mount it behind `localGuard`.
 */
export function rpcRouter(deps: RpcRouterDeps): Router {
  const { maxBodyBytes, maxUnreadBytes, maxUploadBytes, onFailure } = deps;
  const router = express.Router();
  let newEra: Promise<NewEraHttp> | undefined;
  const route: Route = {
    deps,
    takeBytes: answerBudget(maxUnreadBytes ?? MAX_UNREAD_BYTES),
    newEra() {
      newEra ??= import('./new-era.ts').then(({ NewEraHttp }) => new NewEraHttp(deps.server));
      return newEra;
    },
  };
  const full = failure(null, toWireError(new PrunerError('too_many_uploads')));
  const body = boundedBody({
    maxBodyBytes,
    maxHeldBytes: maxUploadBytes,
    refuse: (res) => send(res, 503, full),
  });
  router.post('/', body, (req: Request, res: Response) => exchange(route, req, res));
  router.all('/', (_req, res) => {
    res.setHeader('Allow', 'POST');
    send(res, 405, failure(null, invalidRequest('this endpoint takes POST only')));
  });
  router.use(onError(maxBodyBytes, onFailure));
  return router;
}

async function exchange(route: Route, req: Request, res: Response): Promise<void> {
  const { server, chargeTexts, scopeOf } = route.deps;
  const body: unknown = req.body;
  const bytes = Buffer.isBuffer(body) ? body : Buffer.alloc(0);
  const text = await messageText(bytes);
  if (typeof text !== 'string') return send(res, 200, failure(null, text));

  const client: ClientOptions = {
    ...askedTools(req.url),
    scope: scopeOf?.(req),
    chargeTexts: chargeTexts && ((texts) => chargeTexts(req, texts)),
  };
  const reading = new LongStep();
  const payload = readPayload(text);
  const message = payload.batch ? undefined : payload.messages[0];
  const era = eraOf(req.headers);
  if (message !== undefined && isNewEra(message, era)) {
    await reading.over();
    return exchangeNewEra(route, message, client, req, res);
  }
  if (era === 'new' || (era === 'unsupported' && !isInitialize(message)))
    return send(res, 400, failure(null, wrongVersion(era)));

  const connection = server.connect(client);
  res.once('close', () => connection.close()); // a client that disconnects no longer needs its answer
  const reply = await connection.handle(payload, reading);
  if (reply !== null) deliver(route, req, res, { status: 200, body: replyBytes(reply), unread: () => unread(reply) });
  else if (!res.destroyed) res.status(202).end();
}

/** Whether the SDK handles a message: the message carries its version, or the header names a new-era version. */
function isNewEra(message: Message, era: ReturnType<typeof eraOf>): message is NewEraMessage {
  const isCall = message.kind === 'request' || message.kind === 'notification';
  return isCall && (era === 'new' || namesVersion(message));
}

function isInitialize(message: Message | undefined): boolean {
  return message?.kind === 'request' && message.method === 'initialize';
}

function wrongVersion(era: 'new' | 'unsupported'): RpcError {
  const supported = [NEW_ERA, ...PROTOCOL_VERSIONS].join(', ');
  return era === 'new'
    ? invalidRequest(`a body of version ${NEW_ERA} is one request or notification`)
    : invalidRequest(`the version of MCP-Protocol-Version is not supported; supported: ${supported}`);
}

async function exchangeNewEra(
  route: Route,
  message: NewEraMessage,
  client: ClientOptions,
  req: Request,
  res: Response,
): Promise<void> {
  const gone = new AbortController();
  res.once('close', () => gone.abort());
  const response = await (await route.newEra()).exchange(message, req.headers, client, gone.signal);
  if (res.destroyed) return;
  const { status } = response;
  if (isJson(response)) {
    const id = message.kind === 'request' ? message.id : null;
    const refusal = (): Replies => failure(id, toWireError(new PrunerError('answers_not_read')));
    return deliver(route, req, res, { status, body: Buffer.from(await response.arrayBuffer()), unread: refusal });
  }
  res.writeHead(status, Object.fromEntries(response.headers));
  if (response.body === null) res.end();
  else await pipeline(Readable.fromWeb(response.body as ReadableStream), res).catch(() => {}); // client disconnected
}

function askedTools(url: string): ClientOptions {
  const at = url.indexOf('?');
  const toolLists = at < 0 ? [] : new URLSearchParams(url.slice(at)).getAll('tools');
  if (toolLists.length === 0) return {};
  return { tools: toolLists.flatMap((list) => list.split(',')).map((name) => name.trim()) };
}

interface JsonAnswer {
  readonly status: number;
  readonly body: Buffer;
  /** Replacement if the budget has no room for this answer. */
  readonly unread: () => Replies;
}

/** Writes an answer within the budget, and releases its bytes once the client has read it or disconnected. */
function deliver({ takeBytes }: Route, req: Request, res: Response, { status, body, unread }: JsonAnswer): void {
  if (res.destroyed) return;
  const release = takeBytes(body.length);
  if (release === null) {
    send(res, 200, unread());
    return;
  }
  res.once('close', release);
  // disconnect clients that read nothing for this long
  res.setTimeout(UNREAD_MS, () => res.destroy());
  if (acceptsOnlyEvents(req)) writeEvent(res, status, body);
  else writeJson(res, status, body);
}

function acceptsOnlyEvents({ headers: { accept = '' } }: Request): boolean {
  return /\btext\/event-stream\b/i.test(accept) && !/\bapplication\/(?:json\b|\*)|\*\/\*/i.test(accept);
}

/** Replaces answers that exceed the budget by errors, one per call. */
function unread(reply: Replies): Replies {
  const failed = ({ id }: Reply): Reply => failure(id, toWireError(new PrunerError('answers_not_read')));
  return Array.isArray(reply) ? reply.map(failed) : failed(reply as Reply);
}

function send(res: Response, status: number, reply: Replies): void {
  if (!res.destroyed && !res.headersSent) writeJson(res, status, replyBytes(reply));
}

/** Answers unreadable bodies: too large (413), unknown encoding (415), broken compression (400). */
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
