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
} from './json-rpc.ts';
import type { Face, Peer, ToolContext, ToolRegistry } from './tool.ts';
import { toWireError } from './wire-error.ts';

/** A method of the protocol: named parameters in, result out. */
export type Method = (params: JsonObject, context: MethodContext) => unknown;

/** The context of a call, and which tools the client is to see. */
type MethodContext = ToolContext & Pick<ClientOptions, 'tools'>;

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
  /** Who calls here, where that is a child with an address of its own. */
  readonly caller?: NonNullable<ToolContext['caller']>;
}

/** What is known of a client beside its messages. */
export interface ClientOptions {
  /** Takes notifications, where the client hears of things between its calls; must not throw. */
  readonly notify?: (notification: Notification) => void;
  /** The names of the tools that it is to see; all of its face by default. */
  readonly tools?: readonly string[];
  /** See `ToolContext`. */
  readonly chargeTexts?: NonNullable<ToolContext['chargeTexts']>;
  /** See `ToolContext`. */
  readonly scope?: NonNullable<ToolContext['scope']>;
}

/** The protocol over a registry of tools, free of any transport. One serves all connections of a face. */
export class McpServer {
  readonly #options: McpServerOptions;
  readonly #methods: ReadonlyMap<string, Method>;

  constructor(options: McpServerOptions) {
    this.#options = options;
    this.#methods = new Map(Object.entries({ ...this.#builtIn(), ...options.methods }));
  }

  /** Opens a connection: a stdio stream for all its life, or a single POST. Its ids and its cancellations are its own. */
  connect({ notify, tools, chargeTexts, scope }: ClientOptions = {}): Connection {
    const gone = new AbortController();
    const peer: Peer = {
      notify: (method, params) => {
        if (!gone.signal.aborted) notify?.({ jsonrpc: '2.0', method, params });
      },
      gone: gone.signal,
    };
    const { caller } = this.#options;
    const given = {
      ...(notify && { peer }),
      ...(tools && { tools }),
      ...(caller && { caller }),
      ...(chargeTexts && { chargeTexts }),
      ...(scope && { scope }),
    };
    return new Connection({
      answer: (request, signal) => this.#answer(request, { signal, ...given }),
      onClose: () => gone.abort(),
    });
  }

  async #answer({ id, method, params }: RpcRequest, context: MethodContext): Promise<Reply> {
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
      if (context.tools) this.#options.registry.list(this.#options.faces, context.tools); // a wrong name is told at once
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

/** Clients of `/rpc` ask for these whether or not they are announced. */
const emptyLists: Readonly<Record<string, Method>> = {
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({ resourceTemplates: [] }),
  'prompts/list': () => ({ prompts: [] }),
};

function plain({ code, data }: RpcError): RpcError {
  return new RpcError(code, 'Invalid params', data);
}
