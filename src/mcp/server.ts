import { performance } from 'node:perf_hooks';
import { type Message, readParams, readPayload } from './envelope.ts';
import { negotiateVersion } from './initialize.ts';
import {
  clip,
  failure,
  invalidParams,
  isObject,
  type JsonObject,
  type Notification,
  type Reply,
  RpcError,
  type RpcId,
  rpcCodes,
  success,
} from './json-rpc.ts';
import type { Face, Peer, ToolContext, ToolRegistry } from './tool.ts';
import { toWireError } from './wire-error.ts';

/** A method of the protocol: named parameters in, result out. */
export type Method = (params: JsonObject, context: ToolContext) => unknown;

/** One finished request, for logs and metrics; holds nothing that a client wrote freely. */
export interface CallRecord {
  /** Name of a method that exists, else `unknown`. */
  readonly method: string;
  /** Listed name of the tool that was called, else `null`. */
  readonly tool: string | null;
  /** Code of the error it was answered with, else `null`. */
  readonly errorCode: number | null;
  /** The client cancelled or hung up; there was no answer. */
  readonly cancelled: boolean;
  readonly elapsedMs: number;
  /** What was thrown, when it was a bug (-32603). */
  readonly fault?: unknown;
}

export interface McpServerOptions {
  readonly registry: ToolRegistry;
  /** Whose tools are listed and callable. */
  readonly faces: readonly Face[];
  readonly version: string;
  /** Goes to the agent with `initialize`. */
  readonly instructions?: string;
  /**
   * As the stdio contract wants it: `protocolVersion` is required, -32602 says `Invalid params`, no more, and there are
   * no methods for what the server does not have.
   */
  readonly strict?: boolean;
  /** Methods beside the built-in ones, which they replace where they have the same name. */
  readonly methods?: Readonly<Record<string, Method>>;
  /** Capabilities beside `tools`. */
  readonly capabilities?: JsonObject;
  readonly onCall?: (record: CallRecord) => void;
}

/** The protocol over a registry of tools, free of any transport. One serves all connections of a face. */
export class McpServer {
  readonly #options: McpServerOptions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.#methods = new Map(Object.entries({ ...this.#builtIn(), ...options.methods }));
  }

  /**
   * Opens a connection: a stdio stream for all its life, or a single POST. Its ids and its cancellations are its own.
   *
   * @param send - takes notifications, where the client hears of things between its calls; must not throw
   */
  connect(send?: (notification: Notification) => void): Connection {
    const gone = new AbortController();
    const notify: Peer['notify'] = (method, params) => {
      if (!gone.signal.aborted) send?.({ jsonrpc: '2.0', method, params });
    };
    const peer: Pick<ToolContext, 'peer'> = send === undefined ? {} : { peer: { notify, gone: gone.signal } };
    return new Connection(
      (message, signal) => this.#answer(message, { signal, ...peer }),
      () => gone.abort(),
    );
  }

  async #answer({ id, method, params }: RpcRequest, context: ToolContext): Promise<Reply> {
    const { signal } = context;
    const startedAt = performance.now();
    const handler = this.#methods.get(method);
    const finish = (errorCode: number | null, fault: Pick<CallRecord, 'fault'> = {}): void => {
      const tool = method === 'tools/call' && isObject(params) ? this.#options.registry.listedName(params.name) : null;
      const elapsedMs = performance.now() - startedAt;
      this.#options.onCall?.({
        method: handler ? method : 'unknown',
        tool,
        errorCode,
        cancelled: signal.aborted,
        elapsedMs,
        ...fault,
      });
    };

    let result: unknown;
    try {
      if (!handler) throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${clip(method)}`);
      result = await handler(readParams(params), context);
    } catch (cause) {
      const error = toWireError(cause);
      if (signal.aborted)
        finish(null); // tools end a cancelled call by throwing, which is no fault
      else finish(error.code, error.code === rpcCodes.internalError ? { fault: cause } : {});
      return failure(id, this.#options.strict && error.code === rpcCodes.invalidParams ? plain(error) : error);
    }
    finish(null);
    return success(id, result);
  }

  #builtIn(): Record<string, Method> {
    const { registry, faces, version, instructions, strict = false, capabilities } = this.#options;
    return {
      initialize: (params) => ({
        protocolVersion: negotiateVersion(params, strict),
        capabilities: { tools: { listChanged: false }, ...capabilities },
        serverInfo: { name: 'mcp-pruner', version },
        ...(instructions === undefined ? {} : { instructions }),
      }),
      ping: () => ({}),
      'tools/list': () => ({
        tools: registry.list(faces).map(({ name, description, inputSchema, annotations }) => ({
          name,
          description,
          inputSchema,
          ...(annotations === undefined ? {} : { annotations }),
        })),
      }),
      'tools/call': async ({ name, arguments: args }, context) => {
        if (typeof name !== 'string') throw invalidParams({ field: 'name', message: 'expected the name of a tool' });
        const text = await registry.find(name, faces).call(args ?? {}, context);
        return { content: [{ type: 'text', text }] };
      },
      ...(strict ? {} : emptyLists),
    };
  }
}

/** Clients of `/rpc` ask for these whether or not they are announced. */
const emptyLists: Readonly<Record<string, Method>> = {
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'prompts/list': () => ({ prompts: [] }),
};

type RpcRequest = Extract<Message, { kind: 'request' }>;

/** One client's messages in, answers out. Requests run side by side. */
export class Connection {
  readonly #answer: (request: RpcRequest, signal: AbortSignal) => Promise<Reply>;
  readonly #running = new Set<{ readonly id: RpcId; readonly controller: AbortController }>();
  readonly #onClose: () => void;
  #closed = false;

  constructor(answer: (request: RpcRequest, signal: AbortSignal) => Promise<Reply>, onClose: () => void) {
    this.#answer = answer;
    this.#onClose = onClose;
  }

  /**
   * Takes the JSON text of a message or a batch. Never rejects.
   *
   * @returns what to send back: an answer, a batch of them in the order of the requests, or `null` for nothing
   * (notifications, cancelled calls)
   */
  async receive(text: string): Promise<Reply | readonly Reply[] | null> {
    const payload = readPayload(text);
    if (!payload.batch) return this.#handle(payload.message);
    const replies = await Promise.all(payload.messages.map((message) => this.#handle(message)));
    const sent = replies.filter((reply) => reply !== null);
    return sent.length > 0 ? sent : null;
  }

  /** The client has gone: every running call is told to stop, and nothing more is answered. */
  close(): void {
    this.#closed = true;
    for (const { controller } of this.#running) controller.abort();
    this.#onClose();
  }

  async #handle(message: Message): Promise<Reply | null> {
    if (message.kind === 'invalid') return failure(message.id, message.error);
    if (message.kind === 'request') return this.#run(message);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') this.#cancel(message.params);
    return null; // other notifications ask nothing of a server without state
  }

  async #run(request: RpcRequest): Promise<Reply | null> {
    if (this.#closed) return null;
    const controller = new AbortController();
    const call = { id: request.id, controller };
    this.#running.add(call);
    const reply = await this.#answer(request, controller.signal);
    this.#running.delete(call);
    return controller.signal.aborted ? null : reply;
  }

  #cancel(params: unknown): void {
    const id = isObject(params) ? params.requestId : undefined;
    for (const call of this.#running) if (call.id === id) call.controller.abort();
  }
}

function plain({ code, data }: RpcError): RpcError {
  return new RpcError(code, 'Invalid params', data);
}
