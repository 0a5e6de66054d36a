import type { z } from 'zod';
import { clip, invalidParams, type JsonObject } from './json-rpc.ts';
import { LongStep } from './long-step.ts';
import { describeIssues, renderInputSchema } from './tool-input.ts';

/** Where a tool can be offered: `rpc` are the HTTP server's tools, `stdio` those of the plain stdio server. */
export type Face = 'rpc' | 'stdio';

/** A client whose connection stays: it can be told of things between its calls. */
export interface Peer {
  /** Sends a notification; never throws. */
  notify(method: string, params: JsonObject): void;
  /** Fires when the connection ends. */
  readonly gone: AbortSignal;
}

export interface ToolContext {
  /** Fires when the client cancels the call or hangs up; the answer is then thrown away. */
  readonly signal: AbortSignal;
  /** Absent where a connection lasts for one call only. */
  readonly peer?: Peer;
  /** A child that calls by its own address; absent for anybody else. */
  readonly caller?: { readonly childId: string };
  /** The project and the task (`''` for none) that the caller names; absent where it cannot name any. */
  readonly scope?: { readonly project: string; readonly task: string };
  /**
   * Counts texts to be pruned against the limits of the client's key; absent where there are none.
   *
   * @throws PrunerError `key_requests_used_up`
   */
  readonly chargeTexts?: (texts: number) => Promise<void>;
}

/** Hints of the protocol to its clients; many run a read-only tool without asking their user. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

interface ToolFacts {
  readonly name: string;
  /** Further names that may be called but are not listed. */
  readonly aliases?: readonly string[];
  /** The family of tools it belongs to, which its flag switches as a whole. */
  readonly namespace: string;
  /** One short sentence for overviews. */
  readonly summary: string;
  /** What an agent reads to decide whether to call it. */
  readonly description: string;
  /** `rpc` alone where nothing is said. */
  readonly faces?: readonly Face[];
  /** The command line flag (`--enable-…`) without which the tool is neither listed nor callable. */
  readonly flag?: string;
  readonly annotations?: ToolAnnotations;
}

export interface ToolSpec<Input> extends ToolFacts {
  /** The only description of the input: the listed schema, the check and the type all come from it. */
  readonly input: z.ZodType<Input>;
  /** A string is sent as it is, an object as JSON. */
  run(args: Input, context: ToolContext): Promise<string | object> | string | object;
}

/** A tool as the registry holds it, its input type closed over. */
export interface Tool extends ToolFacts {
  readonly inputSchema: JsonObject;
  /**
   * Checks the arguments and runs the tool.
   *
   * @returns the text for `content[0]`
   * @throws RpcError -32602 naming each field that does not fit; whatever `run` throws
   */
  call(args: unknown, context: ToolContext): Promise<string>;
}

export function defineTool<Input>({ input, run, ...facts }: ToolSpec<Input>): Tool {
  let schema: JsonObject | undefined;
  return {
    ...facts,
    /** Made when a client asks which tools there are: most servers on the way to a model are never asked. */
    get inputSchema() {
      schema ??= renderInputSchema(input);
      return schema;
    },
    async call(args, context) {
      const checking = new LongStep();
      const parsed = input.safeParse(args);
      if (!parsed.success) throw invalidParams(...describeIssues(parsed.error));
      await checking.over();
      const output = await run(parsed.data, context);
      return typeof output === 'string' ? output : JSON.stringify(output);
    },
  };
}

/** Every tool of the process, once. All faces list and call from here. */
export class ToolRegistry {
  readonly #tools: readonly Tool[];
  readonly #byName = new Map<string, Tool>();
  readonly #enabledFlags: ReadonlySet<string>;

  /** @param enabledFlags - flags as their tools spell them (`--enable-bulk`) */
  constructor(tools: readonly Tool[], enabledFlags: ReadonlySet<string> = new Set()) {
    this.#tools = tools;
    this.#enabledFlags = enabledFlags;
    for (const tool of tools) {
      for (const name of [tool.name, ...(tool.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new Error(`two tools are named ${name}`);
        this.#byName.set(name, tool);
      }
    }
  }

  /**
   * The tools that can be called at one of these faces, in the order of registration.
   *
   * @param only - names or aliases of those to be shown; all by default
   * @throws RpcError -32602 as `find` for a name that is none of them
   */
  list(faces: readonly Face[], only?: readonly string[]): Tool[] {
    const chosen = only && new Set(only.map((name) => this.find(name, faces)));
    return this.#tools.filter(
      (tool) => isOffered(tool, faces) && this.#isEnabled(tool) && (chosen === undefined || chosen.has(tool)),
    );
  }

  /**
   * The tool behind a name or an alias.
   *
   * @param only - as for `list`
   * @throws RpcError -32602 when there is none at these faces (the message lists those that are), or when its flag is
   * off (the message names the flag)
   */
  find(name: string, faces: readonly Face[], only?: readonly string[]): Tool {
    const tool = this.#byName.get(name);
    if (tool !== undefined && isOffered(tool, faces) && !this.#isEnabled(tool)) {
      throw invalidParams({ field: 'name', message: `Tool ${name} is disabled; start the server with ${tool.flag}` });
    }
    const offered = this.list(faces, only);
    if (tool !== undefined && offered.includes(tool)) return tool;
    const known = offered.map((one) => one.name).join(', ');
    throw invalidParams({ field: 'name', message: `Unknown tool ${clip(name)}; there are ${known}` });
  }

  /** The listed name behind a name or an alias, whatever its face and flag; `null` when there is no such tool. */
  listedName(name: unknown): string | null {
    return typeof name === 'string' ? (this.#byName.get(name)?.name ?? null) : null;
  }

  #isEnabled({ flag }: Tool): boolean {
    return flag === undefined || this.#enabledFlags.has(flag);
  }
}

function isOffered({ faces: own = ['rpc'] }: Tool, faces: readonly Face[]): boolean {
  return own.some((face) => faces.includes(face));
}
