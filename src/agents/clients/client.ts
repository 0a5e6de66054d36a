import { type McpServerConfig, SERVER_NAME } from '../mcp-servers.ts';

export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [key: string]: JsonValue };

/** How a client reaches the product's MCP server: it starts the server, or uses the address of a running proxy. */
export type McpAccess =
  | { readonly transport: 'stdio'; readonly server: McpServerConfig }
  | {
      readonly transport: 'http';
      readonly url: string;
      /** The bearer token of the server; absent if it needs none on this machine. */
      readonly token?: string;
    };

/** The request format that a client speaks to its model. */
export type WireName = 'chat' | 'messages' | 'responses' | 'gemini';

/** The addresses and servers to configure in a client. */
export interface Wiring {
  /** The proxy's address for OpenAI clients; ends in `/v1`. */
  readonly baseUrl: string;
  /** The base URL without a path, for clients of the messages wire. */
  readonly origin: string;
  readonly mcp: McpAccess | null;
  /** Set if the URLs embed a proxy key: the origin without it, and the environment variable that holds it. */
  readonly keyed?: { readonly origin: string; readonly variable: string };
  /** The provider of the messages wire is on this machine or its network, such as Ollama: its prompt cache is local. */
  readonly hasLocalModel?: boolean;
  /** Marks the base URL as its vendor's own API in the client's configuration. Only for requests that end there. */
  readonly asFirstParty?: boolean;
  /** The model, if the client's configuration must name one. */
  readonly model: string | null;
  /** `true`: requests to a cloud bypass the proxy. */
  readonly cloudBypassesProxy?: boolean;
}

/** The user's machine, as far as clients keep their files on it. */
export interface ClientPlace {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly homeDir: string;
  /** Text of a file, or `null` when there is none. */
  readonly readFile: (path: string) => string | null;
  /** Names in a folder; empty if the folder does not exist. Absent if the user's files must not be read. */
  readonly listFolder?: (path: string) => readonly string[];
}

/** How to start a client wired for one run, without a change to its user's files. */
export interface Launch {
  /** Arguments before the user's own. */
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Written before the start and deleted after the end; names are paths relative to `folder`. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  /** Symbolic links to the user's own files, made and deleted like `files`. */
  readonly links?: readonly { readonly name: string; readonly target: string }[];
}

/** A value for a place in a JSON file; missing objects on the path are created. */
export interface JsonEntry {
  readonly path: readonly [string, ...string[]];
  readonly value: JsonValue;
  /** Leaves a value that the user has chosen. */
  readonly ifAbsent?: boolean;
  /** Of a list: the elements that this product added. Undoing the edit keeps those that somebody added later. */
  readonly isOwn?: (element: JsonValue) => boolean;
}

/** A change to a configuration file. */
export type Edit =
  | (EditOf & {
      readonly format: 'json';
      readonly entries: readonly JsonEntry[];
      /** Whether the client reads comments in it. */
      readonly comments?: boolean;
    })
  | (EditOf & { readonly format: 'toml'; readonly top: TomlTable; readonly tables: TomlTables });

interface EditOf {
  readonly file: string;
  /** Whether it contains a token, so that only the user may read the file. */
  readonly secret?: boolean;
  /** Names an edit that is made and undone apart from others of the file, with a backup of its own. */
  readonly apart?: string;
}

export type TomlTable = Readonly<
  Record<string, string | boolean | readonly string[] | { readonly [key: string]: string }>
>;
/** Tables by their dotted names. */
export type TomlTables = Readonly<Record<string, TomlTable>>;

/** A cloud by which a client reaches its models, instead of the provider of its wire. */
export interface ClientCloud {
  readonly title: string;
  /** The variable with its base URL, the path in it, and its value; `''` if it is not set. */
  readonly variable: string;
  readonly path: string;
  readonly current: string;
  /** Variables that must be empty for it to work. */
  readonly without: readonly string[];
  /** The proxy's setting for its address. */
  readonly key: 'bedrockUrl' | 'vertexUrl' | 'azureUrl';
  /** The current destination; `null` if each request names it. */
  readonly upstream: string | null;
  /**
   * Whether requests are signed with keys of AWS: `own`, those of its environment; `unknown`, of a profile or a login.
   */
  readonly signing: 'none' | 'own' | 'unknown';
}

/** An agent that this product knows how to start and to set up. */
export interface Client {
  /** The name on the command line of `run` and `setup`. */
  readonly name: string;
  readonly title: string;
  /** The program that starts it. */
  readonly command: string;
  /** The wire it uses when set up by this product. */
  readonly wire: WireName;
  /** Whether its configuration must name a model. */
  readonly needsModel: boolean;
  /** Whether it can use MCP servers. */
  readonly usesMcp: boolean;
  /** `null` when it can be set up, but not be wired for one run only. */
  readonly launch: ((wiring: Wiring, place: ClientPlace, folder: string) => Launch) | null;
  readonly edits: (wiring: Wiring, place: ClientPlace) => readonly Edit[];
  /** Its current upstream, ending in `/v1` or similar: the provider for which its key is valid. `null` if unknown. */
  readonly upstream?: (place: ClientPlace) => string | null;
  /** The cloud that it is set to use; `null` for none. */
  readonly cloud?: (place: ClientPlace) => ClientCloud | null;
  /** Variables that its environment must have, because no file of the client can hold them. */
  readonly exports?: (wiring: Wiring) => Readonly<Record<string, string>>;
  /** Why a set-up by its files does not work, in words; `null` if it does. */
  readonly problem?: (place: ClientPlace) => string | null;
  /** Whether a token handed to `launch` stays out of its command line, which others can read. */
  readonly keepsToken?: boolean;
  /** Further notes for its user, one line each. */
  readonly notes: readonly string[];
}

/** The header that a server at an address asks for, as most clients write it; empty when it asks for none. */
export function mcpHeaders(mcp: McpAccess): Readonly<Record<string, string>> {
  return mcp.transport === 'http' && mcp.token !== undefined ? { Authorization: `Bearer ${mcp.token}` } : {};
}

/** The headers as an entry of a server in JSON, left out if there are none. */
export function headersJson(mcp: McpAccess): { readonly headers?: Readonly<Record<string, string>> } {
  const headers = mcpHeaders(mcp);
  return Object.keys(headers).length === 0 ? {} : { headers };
}

/** Whether a server's entry contains a token, which only its owner may read. */
export function holdsToken(mcp: McpAccess | null): boolean {
  if (mcp === null) return false;
  return mcp.transport === 'http' ? mcp.token !== undefined : mcp.server.env?.PRUNER_TOKEN !== undefined;
}

/** A server as a client spells it. */
type ServerJson = (mcp: McpAccess) => JsonValue;

/** The entry of the product's server in a JSON file; empty if there is no server. */
export function serverEntries(mcp: McpAccess | null, toJson: ServerJson, key = 'mcpServers'): JsonEntry[] {
  return mcp === null ? [] : [{ path: [key, SERVER_NAME], value: toJson(mcp) }];
}

/** The servers as a text for the command line. */
export function serversText(mcp: McpAccess, toJson: ServerJson): string {
  return JSON.stringify({ mcpServers: { [SERVER_NAME]: toJson(mcp) } });
}

/** The edit of the client's file of servers; empty if there is no server. */
export function serverEdits(
  file: string,
  mcp: McpAccess | null,
  toJson: ServerJson,
  { comments = false } = {},
): Edit[] {
  if (mcp === null) return [];
  return [{ format: 'json', file, comments, secret: holdsToken(mcp), entries: serverEntries(mcp, toJson) }];
}

/** Name of the provider in configurations that have to name one. */
export const PROVIDER = 'mcp-pruner';

/** A stdio server as JSON, with further fields of the client. */
export function stdioJson({ command, args = [], env = {} }: McpServerConfig, more: Record<string, JsonValue> = {}) {
  return { ...more, command, args: [...args], env: { ...env } } satisfies JsonValue;
}

/** A server entry without the name of its transport, which follows from its URL or command. */
export function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http' ? { url: mcp.url, ...headersJson(mcp) } : stdioJson(mcp.server);
}
