import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { AcceptBatcher } from './accept-batcher.ts';
import { type Gatekeeper, isRepeated, pathOf } from './doors/gatekeeper.ts';
import type { Lane } from './lane/lane.ts';
import { type ErrorBody, sendError } from './send-error.ts';
import type { LoopGuard } from './upstream/headers.ts';
import { discardUpload } from './upstream/unread-upload.ts';
import { bareAnswer } from './websocket/bare-answer.ts';
import { serveAsPlainHttp } from './websocket/unsupported-upgrade.ts';

/** Handles the requests of one wire. Bypasses express, which would double the overhead. */
export interface ModelHandler {
  /** The error format of its clients. */
  readonly errorBody: ErrorBody;
  /** Never rejects. */
  readonly handle: (req: IncomingMessage, res: ServerResponse) => Promise<void>;
}

/** Handles WebSockets that are bridged to the upstream. */
export interface SocketHandler {
  claims(req: IncomingMessage): boolean;
  /**
   * Never rejects.
   *
   * @param head - bytes received after the request
   */
  handle(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void>;
  /** Closes each connection as soon as no answer is in progress on it. */
  drain(): void;
}

/** The handlers of the server. */
export interface Routes {
  /** Handles upgrade requests; if absent, all are refused. */
  readonly sockets?: SocketHandler;
  /** Called when a WebSocket was refused because its path supports none. */
  readonly onUpgradeRefused?: () => void;
  /** Takes requests in which nothing is to be decided, before any door. */
  readonly lane?: Pick<Lane, 'enter'>;
  /** Returns the handler of a model request; `null` for any other request. */
  readonly wireFor: (req: IncomingMessage) => ModelHandler | null;
  /** Detects requests that have already passed this proxy. */
  readonly hops: Pick<LoopGuard, 'isLoop'>;
  /** Handles all other paths except `/health`. */
  readonly app: RequestListener;
  /** Checks each request before it is routed. */
  readonly gatekeeper?: Gatekeeper;
}

export interface ServerOptions {
  /** Body of `GET /health`, as JSON. */
  readonly health: (headers: IncomingHttpHeaders) => object;
  /** Whether all parts are ready, so that `GET /health/ready` returns 200. Before `serve` it always returns 503. */
  readonly ready?: () => boolean;
  readonly host: string;
  readonly port: number;
  /** How long in-flight requests may take to finish once the server stops. */
  readonly drainTimeoutMs: number;
  /** Maximum pause within a request's body. */
  readonly bodyIdleTimeoutMs?: number;
}

const BODY_IDLE_MS = 600_000;
const ignore = (): void => {};

export interface ListeningServer {
  readonly url: string;
  /** Starts serving; queued requests are handled first. */
  serve(routes: Routes): void;
  /** Refuses new requests, drains in-flight ones, then closes the rest. */
  close(): Promise<void>;
}

/**
 * Opens the server's port before the handlers are ready. Until `serve` is called only `/health` is answered; other
 * requests wait.
 *
 * @throws the error of `listen` (`EADDRINUSE`, …)
 */
export async function listen(options: ServerOptions): Promise<ListeningServer> {
  const server = new ProxyServer(options);
  await server.open();
  return server;
}

class ProxyServer implements ListeningServer {
  readonly #options: ServerOptions;
  readonly #server: Server;
  readonly #connections = new Connections();
  readonly #acceptBatcher = new AcceptBatcher();
  /** Requests that arrived before the handlers were ready. */
  readonly #waiting: (() => void)[] = [];
  #routes: Routes | null = null;
  #draining = false;

  constructor(options: ServerOptions) {
    this.#options = options;
    const limits = {
      maxHeaderSize: 64 * 1024,
      headersTimeout: 30_000,
      requestTimeout: 0, // uploads may take any time as long as bytes arrive
      keepAliveTimeout: 75_000,
      noDelay: true,
    };
    this.#server = createServer(limits, (req, res) => this.#onRequest(req, res));
    this.#server.on('upgrade', (req: IncomingMessage, socket: Socket, head: Buffer) =>
      this.#onUpgrade(req, socket, head),
    );
    this.#server.on('connect', (req: IncomingMessage, socket: Socket) => {
      sendError(bareAnswer(req, socket), 'method_not_allowed', NO_FORWARD_PROXY);
    });
    this.#server.on('connection', (socket) => {
      this.#connections.add(socket);
      this.#acceptBatcher.connectionAccepted();
    });
    this.#server.timeout = options.bodyIdleTimeoutMs ?? BODY_IDLE_MS;
    this.#server.on('timeout', (socket: Socket) => {
      if (!this.#connections.waits(socket)) socket.destroy();
    });
  }

  async open(): Promise<void> {
    this.#server.listen(this.#options.port, this.#options.host);
    await once(this.#server, 'listening');
    this.#server.on('error', () => {}); // for example too many open files; open connections are unaffected
  }

  get url(): string {
    return urlOf(this.#server);
  }

  serve(routes: Routes): void {
    this.#routes = routes;
    for (const go of this.#waiting.splice(0)) go();
  }

  close(): Promise<void> {
    this.#draining = true;
    for (const go of this.#waiting.splice(0)) go();
    this.#routes?.sockets?.drain();
    return drain(this.#server, this.#connections, this.#options.drainTimeoutMs);
  }

  #onRequest(req: IncomingMessage, res: ServerResponse): void {
    req.url = originForm(req.url ?? '');
    res.on('error', ignore); // client disconnected; the exchange is notified by 'close'
    const { socket } = req;
    this.#connections.begin(socket, req);
    res.on('close', () => {
      this.#connections.end(socket);
      if (this.#draining) this.#connections.closeIdle(); // keep-alive connections would delay the drain
    });
    const health = req.method === 'GET' || req.method === 'HEAD' ? pathOf(req) : '';
    if (isRepeated(req.rawHeaders, 'host')) refuseHosts(req, res);
    else if (health === '/health/live') sendJson(res, { status: 'live' });
    else if (this.#draining) refuse(req, res, this.#routes);
    else if (health === '/health') sendJson(res, this.#options.health(req.headers));
    else if (health === '/health/ready') this.#sendReady(res);
    else if (this.#routes && !this.#acceptBatcher.isHolding) answer(this.#routes, req, res);
    else {
      const go = (): void => (this.#routes ? answer(this.#routes, req, res) : refuse(req, res, this.#routes));
      if (this.#routes) this.#acceptBatcher.serve(go);
      else this.#waiting.push(go);
    }
  }

  #sendReady(res: ServerResponse): void {
    const ready = this.#routes !== null && this.#options.ready?.() !== false;
    sendJson(res, { status: ready ? 'ready' : 'not_ready' }, ready ? 200 : 503);
  }

  #onUpgrade(req: IncomingMessage, socket: Socket, head: Buffer): void {
    if (!wantsWebSocket(req)) {
      serveAsPlainHttp(this.#server, req, socket, head);
      return;
    }
    socket.on('error', () => {}); // client disconnected; reported by 'close'
    socket.setTimeout(0);
    this.#connections.begin(socket, req);
    req.url = originForm(req.url ?? '');
    if (isRepeated(req.rawHeaders, 'host')) {
      refuseHosts(req, bareAnswer(req, socket));
      return;
    }
    const go = (): void => {
      if (this.#routes && !this.#draining) connect(this.#routes, req, socket, head);
      else sendError(bareAnswer(req, socket), 'shutting_down');
    };
    if (this.#routes || this.#draining) go();
    else this.#waiting.push(go);
  }
}

function answer({ lane, wireFor, app, hops, gatekeeper }: Routes, req: IncomingMessage, res: ServerResponse): void {
  if (req.destroyed) return; // client disconnected while waiting
  // an upstream would echo the request, including keys added by this proxy
  if (req.method === 'TRACE') {
    sendError(res, 'method_not_allowed', 'TRACE is not forwarded.');
    return;
  }
  const go = (): void => {
    const wire = wireFor(req);
    if (hops.isLoop(req.headers)) sendError(res, 'loop_detected', undefined, undefined, wire?.errorBody);
    else if (wire) void wire.handle(req, res);
    else app(req, res);
  };
  const enter = (): void => {
    if (gatekeeper) gatekeeper({ req, answer: () => res, next: go, kind: 'request' });
    else go();
  };
  if (lane) lane.enter(req, res, enter);
  else enter();
}

const NO_FORWARD_PROXY =
  'This is the base URL of a model API and no forward proxy: set the base URL of the client instead of HTTPS_PROXY, or start it with mcp-pruner run.';

function connect(routes: Routes, req: IncomingMessage, socket: Socket, head: Buffer): void {
  if (socket.destroyed) return;
  const { sockets, hops, onUpgradeRefused, gatekeeper } = routes;
  const refusing = (): ServerResponse => bareAnswer(req, socket);
  const go = (): void => {
    if (socket.destroyed) return;
    if (hops.isLoop(req.headers)) sendError(refusing(), 'loop_detected');
    else if (sockets?.claims(req)) void sockets.handle(req, socket, head);
    else {
      onUpgradeRefused?.();
      sendError(refusing(), 'upgrade_refused');
    }
  };
  if (gatekeeper) gatekeeper({ req, answer: refusing, next: go, kind: 'upgrade' });
  else go();
}

function refuse(req: IncomingMessage, res: ServerResponse, routes: Routes | null): void {
  res.shouldKeepAlive = false;
  sendError(res, 'shutting_down', undefined, undefined, routes?.wireFor(req)?.errorBody);
}

/** RFC 9112 §3.2: with two Host headers, guards and caches could disagree about the target. */
function refuseHosts(req: IncomingMessage, res: ServerResponse): void {
  res.shouldKeepAlive = false;
  sendError(res, 'invalid_request', 'The request has several Host headers: send one.', 400);
  discardUpload(req);
}

function sendJson(res: ServerResponse, value: object, status = 200): void {
  const body = Buffer.from(JSON.stringify(value));
  res.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }).end(body);
}

/** Path and query of a request target. Clients that use us as a forward proxy send an absolute URL. */
function originForm(url: string): string {
  if (!/^https?:/i.test(url)) return url;
  const path = url.replace(/^https?:\/\/[^/?]*/i, '');
  return path.startsWith('/') ? path : `/${path}`;
}

function wantsWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade !== undefined && /\bwebsocket\b/i.test(headers.upgrade);
}

function urlOf(server: Server): string {
  const { address, family, port } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function drain(server: Server, connections: Connections, timeoutMs: number): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  connections.closeIdle();
  const forceClose = setTimeout(() => {
    server.closeAllConnections();
    connections.closeAll(); // upgraded connections no longer belong to the server
  }, timeoutMs);
  await closed;
  clearTimeout(forceClose);
}

interface ConnectionState {
  requests: number;
  last: IncomingMessage | null;
}

/** Open connections and their requests. Node does not count connections without any request as idle. */
class Connections {
  readonly #open = new Map<Socket, ConnectionState>();

  add(socket: Socket): void {
    if (this.#open.has(socket)) return; // already known: `serveAsPlainHttp` returned it to the server
    this.#open.set(socket, { requests: 0, last: null });
    socket.once('close', () => this.#open.delete(socket));
  }

  begin(socket: Socket, request: IncomingMessage): void {
    const state = this.#open.get(socket);
    if (!state) return; // the socket was closed already
    state.requests++;
    state.last = request;
  }

  end(socket: Socket): void {
    const state = this.#open.get(socket);
    if (!state) return;
    state.requests--;
    if (state.requests === 0) state.last = null;
  }

  /** Whether a connection's request was fully received and is being answered. */
  waits(socket: Socket): boolean {
    const state = this.#open.get(socket);
    return state !== undefined && state.requests > 0 && state.last?.complete === true;
  }

  closeAll(): void {
    for (const socket of this.#open.keys()) socket.destroy();
  }

  closeIdle(): void {
    for (const [socket, { requests }] of this.#open) if (requests === 0) socket.end();
  }
}
