import { performance } from 'node:perf_hooks';
import { Connection, type RpcRequest } from './connection.ts';
import { readParams } from './envelope.ts';
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
  rpcCodes,
  success,
  toWireError,
} from './json-rpc.ts';
import type { Face, Peer, ToolContext, ToolRegistry } from './tool.ts';

export type Method = (params: JsonObject, context: MethodContext) => unknown;

export type MethodContext = ToolContext & Pick<ClientOptions, 'tools'>;

/** One finished request, for logs and metrics. Contains no client text. */
export interface CallRecord {
  /** Name of an existing method, otherwise `unknown`. */
  readonly method: string;
  /** Listed name of the called tool, otherwise `null`. */
  readonly tool: string | null;
  /** Code of the returned error, otherwise `null`. */
  readonly errorCode: number | null;
  /** The client cancelled or disconnected, and received no answer. */
  readonly cancelled: boolean;
  readonly elapsedMs: number;
  /** The thrown value if it was a bug (-32603). */
  readonly fault?: unknown;
}

export interface McpServerOptions {
  readonly registry: ToolRegistry;
  readonly faces: readonly Face[];
  readonly version: string;
  readonly instructions?: string;
  /**
   * Follows the stdio contract: `protocolVersion` is required, the message of -32602 is exactly `Invalid params`, and
   * methods of absent features do not exist.
   */
  readonly strict?: boolean;
  /** Additional methods; they override built-in ones of the same name. */
  readonly methods?: Readonly<Record<string, Method>>;
  readonly capabilities?: JsonObject;
  readonly onCall?: (record: CallRecord) => void;
  /** The calling child, if the connection uses the child's own URL. */
  readonly caller?: NonNullable<ToolContext['caller']>;
}

/** Facts about a client that its messages do not contain. */
export interface ClientOptions {
  /** Sends notifications between calls; must not throw. Absent if the client cannot receive any. */
  readonly notify?: (notification: Notification) => void;
  /** Names of the visible tools; default: all tools of the face. */
  readonly tools?: readonly string[];
  readonly chargeTexts?: NonNullable<ToolContext['chargeTexts']>;
  readonly scope?: NonNullable<ToolContext['scope']>;
}

/**
 * The protocol over a registry of tools, independent of the transport. One instance serves all connections of a face.
 */
export class McpServer {
  readonly #options: McpServerOptions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.#methods = new Map(Object.entries({ ...this.#builtIn(), ...options.methods }));
  }

  /**
   * Opens a connection: a whole stdio stream, or a single POST. Request ids and cancellations are local to a
   * connection.
   */
  connect({ notify, tools, chargeTexts, scope }: ClientOptions = {}): Connection {
    const gone = new AbortController();
    const peer: Peer = {
      notify: (method, params) => {
        if (!gone.signal.aborted) notify?.({ jsonrpc: '2.0', method, params });
      },
      gone: gone.signal,
    };
    const given = { peer: notify && peer, tools, chargeTexts, scope };
    return new Connection({
      answer: (request, signal) => this.#answer(request, { signal, ...given }),
      onClose: () => gone.abort(),
    });
  }

  get announced(): {
    readonly capabilities: JsonObject;
    readonly serverInfo: { readonly name: string; readonly version: string };
    readonly instructions?: string;
  } {
    const { version, instructions, capabilities } = this.#options;
    return {
      capabilities: { tools: { listChanged: false }, ...capabilities },
      serverInfo: { name: 'mcp-pruner', version },
      ...(instructions === undefined ? {} : { instructions }),
    };
  }

  /** Whether a client that relies on `announced` may call a method. Older clients also list absent features. */
  announces(method: string): boolean {
    const [feature = ''] = method.split('/');
    const isOptional = feature === 'resources' || feature === 'prompts';
    return this.#methods.has(method) && (!isOptional || feature in this.announced.capabilities);
  }

  async #answer({ id, method, params }: RpcRequest, context: MethodContext): Promise<Reply> {
    try {
      return success(id, await this.call(method, params, context));
    } catch (cause) {
      return failure(id, toWireError(cause));
    }
  }

  /**
   * Calls a method, and records the call.
   *
   * @returns the result
   * @throws RpcError, as sent to the client
   */
  async call(method: string, params: unknown, given: MethodContext): Promise<unknown> {
    const context = { ...given, caller: this.#options.caller };
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
      if (context.tools) this.#options.registry.list(this.#options.faces, context.tools); // throws for unknown names
      if (!handler) throw new RpcError(rpcCodes.methodNotFound, `Method not found: ${clip(method)}`);
      result = await handler(readParams(params), context);
    } catch (cause) {
      const error = toWireError(cause);
      if (signal.aborted)
        finish(null); // a cancelled call throws, which is not reported as an error
      else finish(error.code, error.code === rpcCodes.internalError ? { fault: cause } : {});
      throw this.#options.strict && error.code === rpcCodes.invalidParams ? plain(error) : error;
    }
    finish(null);
    return result;
  }

  #builtIn(): Record<string, Method> {
    const { registry, faces, strict = false } = this.#options;
    return {
      initialize: (params) => ({ protocolVersion: negotiateVersion(params, strict), ...this.announced }),
      ping: () => ({}),
      'tools/list': (_params, { tools }) => ({
        tools: registry.list(faces, tools).map(({ name, description, inputSchema, annotations }) => ({
          name,
          description,
          inputSchema,
          ...(annotations === undefined ? {} : { annotations }),
        })),
      }),
      'tools/call': async ({ name, arguments: args }, context) => {
        if (typeof name !== 'string') throw invalidParams({ field: 'name', message: 'expected the name of a tool' });
        const text = await registry.find(name, faces, context.tools).call(args ?? {}, context);
        return { content: [{ type: 'text', text }] };
      },
      ...(strict ? {} : emptyLists),
    };
  }
}

/** Lists that `/rpc` clients request even if not announced. */
const emptyLists: Readonly<Record<string, Method>> = {
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'prompts/list': () => ({ prompts: [] }),
};

function plain({ code, data }: RpcError): RpcError {
  return new RpcError(code, 'Invalid params', data);
}
