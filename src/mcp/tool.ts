import { z } from 'zod';
import { clip, invalidParams, isObject, type JsonObject, type ParamIssue } from './json-rpc.ts';
import { LongStep } from './long-step.ts';

const MAX_ISSUES = 10;

/** The JSON Schema of a tool's input for `tools/list`, without zod's additions. */
function renderInputSchema(input: z.ZodType): JsonObject {
  const { $schema: _, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override: ({ jsonSchema }) => {
      const { shownAs } = jsonSchema;
      if (isObject(shownAs)) {
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, shownAs);
      }
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema;
}

/** Replaces a part of the listed schema by a shorter one, to save tokens. */
export function shown<Schema extends z.ZodType>(schema: Schema, shownAs: JsonObject): Schema {
  return schema.meta({ shownAs });
}

/** An integer of any size, unlike `z.int()`, since "to the end" is often written as a huge number. */
export const integer = z
  .number()
  .refine(Number.isInteger, { error: 'Invalid input: expected an integer' })
  .meta({ type: 'integer' });

/** A list whose length is checked before its members, so that a million invalid members cost nothing. */
export function boundedList<Item>(item: z.ZodType<Item>, most: number, least = 0): z.ZodType<Item[]> {
  const list = least > 0 ? z.array(item).min(least).meta({ maxItems: most }) : z.array(item);
  return z.preprocess((value, context) => {
    if (!Array.isArray(value) || value.length <= most) return value;
    context.addIssue({ code: 'custom', message: `Too big: expected at most ${most} items` });
    return z.NEVER;
  }, list);
}

/** Problems with a call's arguments, by field; never contains values. */
export function describeIssues(error: z.ZodError): ParamIssue[] {
  const issues: ParamIssue[] = [];
  for (const issue of error.issues.slice(0, MAX_ISSUES)) {
    const field = fieldName(issue.path);
    if (issue.code !== 'unrecognized_keys') {
      issues.push({ field: field || 'arguments', message: issue.message });
      continue;
    }
    for (const key of issue.keys.slice(0, MAX_ISSUES)) {
      issues.push({ field: clip(field ? `${field}.${key}` : key), message: 'Unrecognized key' });
    }
  }
  return issues.slice(0, MAX_ISSUES);
}

/** Formats `['ranges', 0, 'end_line']` as `ranges[0].end_line`. */
function fieldName(path: readonly PropertyKey[]): string {
  return path.reduce<string>((name, key) => {
    if (typeof key === 'number') return `${name}[${key}]`;
    return name === '' ? String(key) : `${name}.${String(key)}`;
  }, '');
}

/** Where a tool is offered: `rpc` is the HTTP server, `stdio` the plain stdio server. */
export type Face = 'rpc' | 'stdio';

/** A client with a persistent connection, which can receive notifications between calls. */
export interface Peer {
  /** Sends a notification; never throws. */
  notify(method: string, params: JsonObject): void;
  /** Aborted when the connection ends. */
  readonly gone: AbortSignal;
}

export interface ToolContext {
  /** Aborted when the client cancels the call or disconnects; the answer is then discarded. */
  readonly signal: AbortSignal;
  /** Absent if the connection lasts for one call only. */
  readonly peer?: Peer;
  /** The calling child, identified by its own URL; absent for other callers. */
  readonly caller?: { readonly childId: string };
  /** The caller's project and task (`''` for none); absent if the caller cannot name them. */
  readonly scope?: { readonly project: string; readonly task: string };
  /**
   * Charges texts to prune to the limits of the client's key; absent without limits.
   *
   * @throws PrunerError `key_requests_used_up`
   */
  readonly chargeTexts?: (texts: number) => Promise<void>;
}

/** Protocol hints for clients; many run read-only tools without asking their user. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

interface ToolFacts {
  readonly name: string;
  /** Further accepted names that are not listed. */
  readonly aliases?: readonly string[];
  /** Tool family, enabled or disabled as a whole by its flag. */
  readonly namespace: string;
  /** One short sentence, for overviews. */
  readonly summary: string;
  /** The description by which an agent decides whether to call the tool. */
  readonly description: string;
  /** Default: `rpc` only. */
  readonly faces?: readonly Face[];
  /** The command line flag (`--enable-…`) without which the tool is neither listed nor callable. */
  readonly flag?: string;
  readonly annotations?: ToolAnnotations;
}

interface ToolSpec<Input> extends ToolFacts {
  /** Single source for the listed schema, the validation and the type of the input. */
  readonly input: z.ZodType<Input>;
  /** Runs the tool. Strings are sent unchanged, objects as JSON. */
  run(args: Input, context: ToolContext): Promise<string | object> | string | object;
}

export interface Tool extends ToolFacts {
  readonly inputSchema: JsonObject;
  /**
   * Validates the arguments and runs the tool.
   *
   * @returns the text for `content[0]`
   * @throws RpcError -32602 naming each invalid field; any error of `run`
   */
  call(args: unknown, context: ToolContext): Promise<string>;
}

/** Arguments that clients add to every tool call: `wait_for_previous` (Gemini CLI), `task_progress` (Cline). */
const CLIENT_KEYS: ReadonlySet<string> = new Set(['wait_for_previous', 'task_progress']);

/** Removes arguments added by clients. They are not in the schema, and other unknown arguments are refused. */
function withoutClientKeys(args: unknown): unknown {
  if (!isObject(args) || !Object.keys(args).some((key) => CLIENT_KEYS.has(key))) return args;
  return Object.fromEntries(Object.entries(args).filter(([key]) => !CLIENT_KEYS.has(key)));
}

export function defineTool<Input>({ input, run, ...facts }: ToolSpec<Input>): Tool {
  let schema: JsonObject | undefined;
  return {
    ...facts,
    /** Built lazily: most servers between client and model never receive a `tools/list`. */
    get inputSchema() {
      schema ??= renderInputSchema(input);
      return schema;
    },
    async call(args, context) {
      const checking = new LongStep();
      const parsed = input.safeParse(withoutClientKeys(args));
      if (!parsed.success) throw invalidParams(...describeIssues(parsed.error));
      await checking.over();
      const output = await run(parsed.data, context);
      return typeof output === 'string' ? output : JSON.stringify(output);
    },
  };
}

/** All tools of the process, shared by all faces. */
export class ToolRegistry {
  readonly #tools: readonly Tool[];
  readonly #byName = new Map<string, Tool>();
  readonly #enabledFlags: ReadonlySet<string>;
  readonly #profiles: Readonly<Record<string, readonly string[]>>;

  /**
   * @param enabledFlags - flags in the tools' spelling (`--enable-bulk`)
   * @param profiles - named sets of tools; disabled tools in them are ignored
   */
  constructor(
    tools: readonly Tool[],
    enabledFlags: ReadonlySet<string> = new Set(),
    profiles: Readonly<Record<string, readonly string[]>> = {},
  ) {
    this.#tools = tools;
    this.#profiles = profiles;
    this.#enabledFlags = enabledFlags;
    for (const tool of tools) {
      for (const name of [tool.name, ...(tool.aliases ?? [])]) {
        if (this.#byName.has(name)) throw new Error(`two tools are named ${name}`);
        this.#byName.set(name, tool);
      }
    }
  }

  /**
   * The callable tools of these faces, in the order of registration.
   *
   * @param only - names or aliases of tools, or names of profiles; default: all
   * @throws RpcError -32602 like `find` for unknown names
   */
  list(faces: readonly Face[], only?: readonly string[]): Tool[] {
    const chosen = only && new Set(only.flatMap((name) => this.#ofProfile(name, faces) ?? [this.find(name, faces)]));
    return this.#tools.filter(
      (tool) => isOffered(tool, faces) && this.#isEnabled(tool) && (chosen === undefined || chosen.has(tool)),
    );
  }

  /**
   * Finds a tool by name or alias.
   *
   * @param only - see `list`
   * @throws RpcError -32602 if these faces have no such tool (the message lists their tools), or if its flag is off
   * (the message names the flag)
   */
  find(name: string, faces: readonly Face[], only?: readonly string[]): Tool {
    const tool = this.#byName.get(name);
    if (tool !== undefined && isOffered(tool, faces) && !this.#isEnabled(tool)) {
      throw invalidParams({ field: 'name', message: `Tool ${name} is disabled; start the server with ${tool.flag}` });
    }
    const offered = this.list(faces, only);
    if (tool !== undefined && offered.includes(tool)) return tool;
    const known = offered.map((one) => one.name).join(', ');
    throw invalidParams({ field: 'name', message: `Unknown tool ${clip(name)}; available: ${known}` });
  }

  /** The listed name for a name or alias, regardless of face and flag; `null` for unknown tools. */
  listedName(name: unknown): string | null {
    return typeof name === 'string' ? (this.#byName.get(name)?.name ?? null) : null;
  }

  #ofProfile(name: string, faces: readonly Face[]): Tool[] | null {
    const profile = Object.hasOwn(this.#profiles, name) ? this.#profiles[name] : undefined;
    if (profile === undefined) return null;
    const names = new Set(profile);
    return this.#tools.filter((tool) => names.has(tool.name) && isOffered(tool, faces) && this.#isEnabled(tool));
  }

  #isEnabled({ flag }: Tool): boolean {
    return flag === undefined || this.#enabledFlags.has(flag);
  }
}

function isOffered({ faces: own = ['rpc'] }: Tool, faces: readonly Face[]): boolean {
  return own.some((face) => faces.includes(face));
}
