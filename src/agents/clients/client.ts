import type { McpServerConfig } from '../mcp-servers.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** How a client reaches the product's MCP server: by starting it, or at the address of a proxy that runs. */
export type McpAccess =
  | { readonly transport: 'stdio'; readonly server: McpServerConfig }
  | { readonly transport: 'http'; readonly url: string };

/** What a client is to be connected with. */
export interface Wiring {
  /** The proxy's address for OpenAI clients; ends in `/v1`. */
  readonly baseUrl: string;
  readonly mcp: McpAccess | null;
  /** The model to ask for, where the client's configuration has to name it. */
  readonly model: string | null;
}

/** The user's machine, as far as clients keep their files on it. */
export interface ClientPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Text of a file, or `null` when there is none. */
  readonly readFile: (path: string) => string | null;
}

/** How to start a client wired for one run, without a change to its user's files. */
export interface Launch {
  /** Stand in front of the user's own arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written before the start and gone after the end; names are relative to `folder`. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
}

/** A value to stand at a place in a file of JSON; objects on the way there are made. */
export interface JsonEntry {
  readonly path: readonly [string, ...string[]];
  readonly value: JsonValue;
  /** Leaves a value that the user has chosen. */
  readonly ifAbsent?: boolean;
}

/** A change to a configuration file. */
export type Edit =
  | { readonly format: 'json'; readonly file: string; readonly entries: readonly JsonEntry[] }
  | { readonly format: 'toml'; readonly file: string; readonly top: TomlTable; readonly tables: TomlTables };

export type TomlTable = Readonly<Record<string, string | boolean | readonly string[]>>;
/** Tables by their dotted names. */
export type TomlTables = Readonly<Record<string, TomlTable>>;

/** An agent that this product knows how to start and to set up. */
export interface Client {
  /** As on the command line of `run` and `setup`. */
  readonly name: string;
  readonly title: string;
  /** The program that starts it. */
  readonly command: string;
  /** Whether it speaks chat completions, so that its requests can be pruned on their way. */
  readonly proxied: boolean;
  /** Whether its configuration has to name a model. */
  readonly needsModel: boolean;
  /** Whether it can use MCP servers. */
  readonly usesMcp: boolean;
  /** `null` when it can be set up, but not be wired for one run only. */
  readonly launch: ((wiring: Wiring, place: ClientPlace, folder: string) => Launch) | null;
  readonly edits: (wiring: Wiring, place: ClientPlace) => readonly Edit[];
  /** What its user has to know besides, one line each. */
  readonly notes: readonly string[];
}

/** Name of the provider in configurations that have to name one. */
export const PROVIDER = 'mcp-pruner';

/** The arguments of a stdio server as JSON knows them, with what the client wants beside them. */
export function stdioJson({ command, args = [], env = {} }: McpServerConfig, more: Record<string, JsonValue> = {}) {
  return { ...more, command, args: [...args], env: { ...env } } satisfies JsonValue;
}
