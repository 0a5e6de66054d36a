import { type McpServerConfig, SERVER_NAME } from '../mcp-servers.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** How a client reaches the MCP server: by starting it, or by the URL of a running proxy. */
export type McpAccess =
  | { readonly transport: 'stdio'; readonly server: McpServerConfig }
  | {
      readonly transport: 'http';
      readonly url: string;
      /** Bearer token of the server; absent if none is needed on this machine. */
      readonly token?: string;
    };

/** Request format between a client and its model. */
export type WireName = 'chat' | 'messages' | 'responses' | 'gemini';

export interface Wiring {
  /** The proxy's URL for OpenAI clients; ends in `/v1`. */
  readonly baseUrl: string;
  /** Base URL without a path, for clients of the messages wire. */
  readonly origin: string;
  readonly mcp: McpAccess | null;
  /** Set if the URLs embed a proxy key: the origin without it, and the environment variable that holds it. */
  readonly keyed?: { readonly origin: string; readonly variable: string };
  /** The provider of the messages wire is local, such as Ollama, and so is its prompt cache. */
  readonly hasLocalModel?: boolean;
  /** Marks the base URL as its vendor's own API in the client's configuration. Only if requests end there. */
  readonly asFirstParty?: boolean;
  /** The model, if the client's configuration requires one. */
  readonly model: string | null;
  readonly cloudBypassesProxy?: boolean;
}

/** The user's machine, with access to clients' files. */
export interface ClientPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Reads a file; `null` if there is none. */
  readonly readFile: (path: string) => string | null;
  /** Lists a folder; empty if it does not exist. Absent if the user's files must not be read. */
  readonly listFolder?: (path: string) => readonly string[];
}

/** How to start a client configured for one run, without changing the user's files. */
export interface Launch {
  /** Arguments before the user's arguments. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files written before the start and deleted afterwards; names are paths relative to `folder`. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Symbolic links to the user's files, created and deleted like `files`. */
  readonly links?: readonly { readonly name: string; readonly target: string }[];
}

/** A value at a path in a JSON file; missing objects on the path are created. */
export interface JsonEntry {
  readonly path: readonly [string, ...string[]];
  readonly value: JsonValue;
  /** Keeps a value that the user has already set. */
  readonly ifAbsent?: boolean;
  /** For lists: identifies elements added by this product. Undoing the edit keeps all others. */
  readonly isOwn?: (element: JsonValue) => boolean;
}

export type Edit =
  | (EditOf & {
      readonly format: 'json';
      readonly entries: readonly JsonEntry[];
      /** Whether the client accepts comments in the file. */
      readonly comments?: boolean;
    })
  | (EditOf & {
      readonly format: 'toml';
      readonly top: TomlTable;
      readonly tables: TomlTables;
      /** Whether a value of the user at a key of `top` is replaced; undoing puts it back. */
      readonly replaces?: boolean;
    });

interface EditOf {
  readonly file: string;
  /** Whether the file contains a token, so that only the user may read it. */
  readonly secret?: boolean;
  /** Name of an edit that is applied and undone independently, with its own backup. */
  readonly feature?: 'hook' | 'statusline' | 'compaction';
}

export type TomlTable = Readonly<
  Record<string, string | boolean | number | readonly string[] | { readonly [key: string]: string }>
>;
/** Tables by dotted name. */
export type TomlTables = Readonly<Record<string, TomlTable>>;

/** A cloud through which a client reaches its models, instead of its wire's provider. */
export interface ClientCloud {
  readonly title: string;
  /** Variable with the base URL, its path, and its value; `''` if not set. */
  readonly variable: string;
  readonly path: string;
  readonly current: string;
  /** Variables that must be empty for this to work. */
  readonly without: readonly string[];
  /** The proxy setting with the cloud's URL. */
  readonly key: 'bedrockUrl' | 'vertexUrl' | 'azureUrl';
  /** Current destination; `null` if each request names it. */
  readonly upstream: string | null;
  /** AWS signing of requests: `own` uses keys in the environment; `unknown` uses a profile or a login. */
  readonly signing: 'none' | 'own' | 'unknown';
}

export interface Client {
  /** Name on the command line of `run` and `setup`. */
  readonly name: string;
  readonly title: string;
  readonly command: string;
  /** The wire it uses when set up by this product. */
  readonly wire: WireName;
  readonly needsModel: boolean;
  readonly usesMcp: boolean;
  /** `null` if the client can be set up, but not be configured for a single run. */
  readonly launch: ((wiring: Wiring, place: ClientPlace, folder: string) => Launch) | null;
  readonly edits: (wiring: Wiring, place: ClientPlace) => readonly Edit[];
  /** Current upstream, ending in `/v1` or similar, for which the client's key is valid; `null` if unknown. */
  readonly upstream?: (place: ClientPlace) => string | null;
  readonly cloud?: (place: ClientPlace) => ClientCloud | null;
  /** Required environment variables that no file of the client can contain. */
  readonly exports?: (wiring: Wiring) => Readonly<Record<string, string>>;
  /** Why a set-up by files does not work; `null` if it does. */
  readonly problem?: (place: ClientPlace) => string | null;
  /** Whether `launch` keeps a token off the command line, which other users can read. */
  readonly keepsToken?: boolean;
  readonly notes: readonly string[];
}

/** The authorization header of an MCP server; empty if none is required. */
export function mcpHeaders(mcp: McpAccess): Readonly<Record<string, string>> {
  return mcp.transport === 'http' && mcp.token !== undefined ? { Authorization: `Bearer ${mcp.token}` } : {};
}

/** The headers as a field of a JSON server entry; omitted if there are none. */
export function headersJson(mcp: McpAccess): { readonly headers?: Readonly<Record<string, string>> } {
  const headers = mcpHeaders(mcp);
  return Object.keys(headers).length === 0 ? {} : { headers };
}

/** Whether a server's entry contains a token, so that only its owner may read it. */
export function holdsToken(mcp: McpAccess | null): boolean {
  if (mcp === null) return false;
  return mcp.transport === 'http' ? mcp.token !== undefined : mcp.server.env?.PRUNER_TOKEN !== undefined;
}

type ServerJson = (mcp: McpAccess) => JsonValue;

/** The entry of the product's server in a JSON file; empty if there is no server. */
export function serverEntries(mcp: McpAccess | null, toJson: ServerJson, key = 'mcpServers'): JsonEntry[] {
  return mcp === null ? [] : [{ path: [key, SERVER_NAME], value: toJson(mcp) }];
}

export function serversText(mcp: McpAccess, toJson: ServerJson): string {
  return JSON.stringify({ mcpServers: { [SERVER_NAME]: toJson(mcp) } });
}

/** Edits of the client's server file; empty if there is no server. */
export function serverEdits(file: string, mcp: McpAccess | null, toJson: ServerJson): Edit[] {
  if (mcp === null) return [];
  return [{ format: 'json', file, secret: holdsToken(mcp), entries: serverEntries(mcp, toJson) }];
}

export const PROVIDER = 'mcp-pruner';

/** A stdio server as JSON, with client-specific fields. */
export function stdioJson({ command, args = [], env = {} }: McpServerConfig, more: Record<string, JsonValue> = {}) {
  return { ...more, command, args: [...args], env: { ...env } } satisfies JsonValue;
}

/** A server entry without transport name, which is implied by URL or command. */
export function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http' ? { url: mcp.url, ...headersJson(mcp) } : stdioJson(mcp.server);
}
