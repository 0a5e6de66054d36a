import type { IncomingHttpHeaders } from 'node:http';
import { createMcpHandler, type JSONRPCMessage, Server, type Transport } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { field } from '../wires/json/value.ts';
import { isJson, type NewEraMessage } from './era.ts';
import { clip, type JsonObject, RpcError, type RpcId, rpcCodes } from './json-rpc.ts';
import type { ClientOptions, McpServer, MethodContext } from './server.ts';
import type { Peer } from './tool.ts';

type ClientContext = Omit<MethodContext, 'signal'>;

/**
 * The SDK's server over our methods. It adds required fields to answers; our methods validate input.
 *
 * @param only - the only method that will be called, if known; unknown methods get a separate status
 */
function sdkServer(server: McpServer, client: ClientContext, only?: string): Server {
  const { serverInfo, ...options } = server.announced;
  const adapter = new Server(serverInfo, options);
  if (only !== undefined && !server.announces(only)) return adapter;
  adapter.fallbackRequestHandler = async ({ method, params }, { mcpReq: { signal } }) => {
    if (!server.announces(method)) throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${clip(method)}`);
    return (await server.call(method, params, { ...client, signal })) as JsonObject;
  };
  return adapter;
}

/** The `_meta` member that identifies a notification's subscription by its request id. */
const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId';

/** Converts an id for the SDK, which does not support integers beyond 2^53. */
function sdkId(id: RpcId): string | number | null {
  return typeof id === 'bigint' ? `exact-${id}` : id;
}

/** Restores the client's exact id in a subscription message. */
function exactSubscription(message: JSONRPCMessage): object {
  const part = 'method' in message ? 'params' : 'result';
  const body = field(message, part);
  const meta = field(body, '_meta');
  const [, digits] = /^exact-(-?\d+)$/.exec(String(field(meta, SUBSCRIPTION))) ?? [];
  if (digits === undefined) return message;
  const id = BigInt(digits);
  const exact = { ...message, [part]: { ...(body as object), _meta: { ...(meta as object), [SUBSCRIPTION]: id } } };
  return part === 'result' ? { ...exact, id } : exact;
}

function sdkMessage(message: NewEraMessage, id: string | number | null) {
  const { kind, method, params } = message;
  return { jsonrpc: '2.0', method, params, ...(kind === 'request' ? { id } : {}) };
}

export class NewEraHttp {
  readonly #exchanges = new WeakMap<Request, { readonly client: ClientContext; readonly method: string }>();
  readonly #handler: ReturnType<typeof createMcpHandler>;

  constructor(server: McpServer) {
    const open = ({ requestInfo }: { requestInfo?: Request }): Server => {
      const exchange = requestInfo && this.#exchanges.get(requestInfo);
      return sdkServer(server, exchange?.client ?? {}, exchange?.method);
    };
    this.#handler = createMcpHandler(open, { legacy: 'reject' });
  }

  /**
   * Answers one message, whose body was already read and checked.
   *
   * @param headers - request headers; some repeat members of the message and must match
   * @param gone - aborted when the client disconnects
   */
  async exchange(
    message: NewEraMessage,
    headers: IncomingHttpHeaders,
    client: ClientOptions,
    gone: AbortSignal,
  ): Promise<Response> {
    const named = Object.entries(headers).filter(([name]) => name.startsWith('mcp-'));
    const fields = [...named, ['content-type', 'application/json']].map(([name, value]) => [name, String(value)]);
    const request = new Request('http://localhost/', {
      method: 'POST',
      headers: fields as [string, string][],
      signal: gone,
    });
    this.#exchanges.set(request, { client, method: message.method });
    const given = message.kind === 'request' ? message.id : null;
    const id = sdkId(given);
    const response = await this.#handler.fetch(request, { parsedBody: sdkMessage(message, id) });
    if (typeof given !== 'bigint') return response;
    const exact = (text: string): string => text.replaceAll(`d":${JSON.stringify(id)}`, `d":${given}`);
    if (isJson(response) || response.body === null) return new Response(exact(await response.text()), response);
    // the SDK writes each event in one chunk
    const transform: TransformStream<string, string> = new TransformStream({
      transform: (event, out) => out.enqueue(exact(event)),
    });
    const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(transform);
    return new Response(events.pipeThrough(new TextEncoderStream()), response);
  }
}

export class NewEraStdio {
  readonly #server: McpServer;
  readonly #client: ClientContext;
  readonly #wire: Wire;
  readonly #connection: ReturnType<typeof serveStdio>;
  readonly #gone = new AbortController();
  /** Resources of each `subscriptions/listen`, by request id. */
  readonly #listened = new Map<unknown, readonly string[]>();
  #adapter: Server | null = null;

  constructor(server: McpServer, client: ClientContext, write: (message: object) => Promise<void>) {
    this.#server = server;
    const peer: Peer = {
      notify: (method, params) => void this.#adapter?.notification({ method, params }).catch(() => {}), // disconnected
      gone: this.#gone.signal,
    };
    this.#client = { ...client, peer };
    this.#wire = new Wire(write);
    const open = (): Server => {
      this.#adapter = sdkServer(server, this.#client);
      return this.#adapter;
    };
    this.#connection = serveStdio(open, { legacy: 'reject', transport: this.#wire });
  }

  /** @returns settles once a request is answered or cancelled */
  async receive(message: NewEraMessage): Promise<void> {
    const done = this.#wire.receive(message);
    if (message.method === 'subscriptions/listen') await this.#listen(message);
    if (message.method === 'notifications/cancelled') await this.#unlisten(message);
    await done;
  }

  close(): Promise<void> {
    this.#gone.abort();
    return this.#connection.close();
  }

  /** Watches the resources of a subscription; the SDK filters the changes that the client requested. */
  async #listen(message: NewEraMessage): Promise<void> {
    if (message.kind !== 'request') return;
    const uris = field(field(message.params, 'notifications'), 'resourceSubscriptions');
    const wanted = Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
    if (wanted.length === 0) return;
    this.#listened.set(message.id, wanted);
    for (const uri of wanted) await this.#subscribe('resources/subscribe', uri);
  }

  async #unlisten(message: NewEraMessage): Promise<void> {
    const id = field(message.params, 'requestId');
    const uris = this.#listened.get(id) ?? [];
    this.#listened.delete(id);
    const others = new Set([...this.#listened.values()].flat());
    for (const uri of uris) if (!others.has(uri)) await this.#subscribe('resources/unsubscribe', uri);
  }

  async #subscribe(method: string, uri: string): Promise<void> {
    const context = { ...this.#client, signal: this.#gone.signal };
    await this.#server.call(method, { uri }, context).catch(() => {}); // reported; MCP has no error for it
  }
}

interface PendingCall {
  readonly id: RpcId;
  readonly settle: () => void;
}

/** SDK transport for a stdio connection whose lines we read and write ourselves. */
class Wire implements Transport {
  onclose?: () => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #write: (message: object) => Promise<void>;
  /** Pending requests under our own ids, because client ids may repeat or be unsupported by the SDK. */
  readonly #pending = new Map<string, PendingCall>();
  #calls = 0;

  constructor(write: (message: object) => Promise<void>) {
    this.#write = write;
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    const call = 'method' in message ? undefined : this.#pending.get(String(message.id));
    await this.#write(call ? { ...message, id: call.id } : exactSubscription(message));
    call?.settle();
  }

  async close(): Promise<void> {
    for (const { settle } of this.#pending.values()) settle();
    this.onclose?.();
  }

  /** @returns settles once a request is answered or cancelled */
  async receive(message: NewEraMessage): Promise<void> {
    if (message.kind === 'notification') return this.#notify(message);
    // subscriptions are not answered, and their notifications repeat the id
    if (message.method === 'subscriptions/listen') return this.#deliver(message, sdkId(message.id));
    const key = `mcp-pruner-call-${this.#calls++}`;
    const answered = new Promise<void>((resolve) => {
      const settle = (): void => {
        this.#pending.delete(key);
        resolve();
      };
      this.#pending.set(key, { id: message.id, settle });
    });
    this.#deliver(message, key);
    await answered;
  }

  #notify(message: NewEraMessage): void {
    if (message.method !== 'notifications/cancelled') {
      this.#deliver(message, null);
      return;
    }
    const cancelled = field(message.params, 'requestId');
    const calls = [...this.#pending].filter(([, { id }]) => id === cancelled);
    const known = calls.map(([key]): unknown => key);
    for (const requestId of known.length > 0 ? known : [sdkId(cancelled as RpcId)]) {
      this.#deliver({ ...message, params: { ...(message.params as JsonObject), requestId } }, null);
    }
    for (const [, { settle }] of calls) settle();
  }

  #deliver(message: NewEraMessage, id: string | number | null): void {
    this.onmessage?.(sdkMessage(message, id) as JSONRPCMessage);
  }
}
