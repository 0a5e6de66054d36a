import {
  baseUrl,
  headerSecret,
  hostName,
  httpUrl,
  list,
  oneOf,
  onOff,
  optional,
  plainText,
  proxyUrl,
  type Rule,
  share,
  wholeNumber,
} from './rules.ts';

/** One setting: its names, its rule, its default and what it is for. */
export interface Setting<T> {
  /** Names in the environment; the first that is set wins. */
  readonly env: readonly [string, ...string[]];
  /** Key below `[mcp_pruner]` in the TOML file, or `null` for what only the environment may hold. */
  readonly toml: string | null;
  readonly rule: Rule<T>;
  readonly fallback: T;
  /** The default in words, where it depends on the machine or an empty value needs explaining. */
  readonly fallbackWords?: string;
  readonly unit?: string;
  /** What it is for, in one line. */
  readonly doc: string;
  /** Never printed, and refused in the TOML file. */
  readonly secret?: true;
  /** Name of the option of `mcp-pruner serve` that sets it too. */
  readonly flag?: string;
  /** `mcp-pruner serve` switches it by `--enable-<toggle>` and `--disable-<toggle>`. */
  readonly toggle?: string;
  /** What a wrong word in the environment counts as, with a warning; without it a wrong word stops the start. */
  readonly instead?: T;
}

function setting<T>(row: Omit<Setting<T>, 'fallback' | 'instead'> & { fallback: NoInfer<T>; instead?: NoInfer<T> }) {
  return row as Setting<T>;
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const DAY_S = 24 * 60 * 60;
/** The longest delay that a timer of Node can wait, some 24 days. */
const MAX_TIMER_MS = 2_147_483_647;

/** Every setting, once. `docs/configuration.md` and `config/default.toml` are printed from here. */
export const table = {
  host: setting({
    env: ['MCP_PRUNER_HOST'],
    toml: 'host',
    rule: hostName(),
    fallback: '127.0.0.1',
    flag: 'host',
    doc: 'Address to listen on. Any other than loopback requires MCP_PRUNER_AUTH_TOKEN.',
  }),
  port: setting({
    env: ['MCP_PRUNER_PORT'],
    toml: 'port',
    rule: wholeNumber(0, 65_535),
    fallback: 8006,
    flag: 'port',
    doc: 'Port to listen on; 0 takes any free one.',
  }),
  upstreamUrl: setting({
    env: ['MCP_PRUNER_UPSTREAM_URL'],
    toml: 'upstream_url',
    rule: baseUrl(),
    fallback: 'https://api.openai.com/v1',
    flag: 'upstream-url',
    doc: 'Where requests are forwarded to; what a client asks for below /v1 is appended.',
  }),
  anthropicUrl: setting({
    env: ['MCP_PRUNER_ANTHROPIC_URL'],
    toml: 'anthropic_url',
    rule: baseUrl(),
    fallback: 'https://api.anthropic.com/v1',
    flag: 'anthropic-url',
    doc: 'Where requests of the messages wire (/v1/messages, and all that name an anthropic-version) are forwarded to.',
  }),
  authToken: setting({
    env: ['MCP_PRUNER_AUTH_TOKEN'],
    toml: null,
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token that /rpc, /prune and /metrics ask for. Required when the host is not loopback.',
  }),
  localToken: setting({
    env: ['MCP_PRUNER_LOCAL_TOKEN'],
    toml: 'local_token',
    rule: oneOf(['off', 'auto']),
    fallback: 'off',
    doc: 'auto: without MCP_PRUNER_AUTH_TOKEN, /rpc, /prune and /metrics ask for the token in the file local-token beside the store, which is made where there is none and which its owner alone can read.',
  }),
  allowedHosts: setting({
    env: ['MCP_PRUNER_ALLOWED_HOSTS'],
    toml: 'allowed_hosts',
    rule: list('host names, each with or without a port'),
    fallback: [],
    doc: 'Further names under which clients may address the server (Host header), besides loopback and the host itself.',
  }),
  allowedOrigins: setting({
    env: ['MCP_PRUNER_ALLOWED_ORIGINS'],
    toml: 'allowed_origins',
    rule: list('web origins such as http://localhost:3000'),
    fallback: [],
    doc: 'Web pages (Origin header) that may call the server, besides its own. Requests of other pages are not pruned and may not use /rpc.',
  }),
  httpProxy: setting({
    env: ['http_proxy', 'HTTP_PROXY'],
    toml: null,
    rule: optional(proxyUrl()),
    fallback: null,
    fallbackWords: 'none',
    secret: true,
    instead: null,
    doc: 'Proxy for requests to http:// addresses: the upstream and remote backends.',
  }),
  httpsProxy: setting({
    env: ['https_proxy', 'HTTPS_PROXY'],
    toml: null,
    rule: optional(proxyUrl()),
    fallback: null,
    fallbackWords: 'that of HTTP_PROXY',
    secret: true,
    instead: null,
    doc: 'Proxy for requests to https:// addresses, asked for a tunnel by CONNECT. It may hold a user name and a password.',
  }),
  noProxy: setting({
    env: ['no_proxy', 'NO_PROXY'],
    toml: null,
    rule: list('host names, each for all below it too, with or without a port; or *'),
    fallback: [],
    doc: 'Hosts that are reached without a proxy. Loopback addresses must be named here too.',
  }),
  dbPath: setting({
    env: ['MCP_PRUNER_DB_PATH'],
    toml: 'db_path',
    rule: plainText('a file path'),
    fallback: '',
    fallbackWords: '~/.local/share/mcp-pruner/store.db (XDG_DATA_HOME is honoured; on Windows below %LOCALAPPDATA%)',
    doc: 'The SQLite file that keeps the originals. A relative path in the TOML file starts at that file.',
  }),
  logLevel: setting({
    env: ['MCP_PRUNER_LOG_LEVEL'],
    toml: 'log_level',
    rule: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { warning: 'warn' }),
    fallback: 'info',
    doc: 'Least severe kind of log line that is written. The line for each request is info.',
  }),
  logFormat: setting({
    env: ['MCP_PRUNER_LOG_FORMAT'],
    toml: 'log_format',
    rule: oneOf(['auto', 'json', 'line'], {}),
    fallback: 'auto',
    doc: 'How log lines look: json, one object a line; line, one line for people; auto, a line on a terminal and JSON elsewhere.',
  }),
  enabled: setting({
    env: ['MCP_PRUNER_ENABLED'],
    toml: 'enabled',
    rule: onOff(),
    fallback: true,
    doc: 'The kill switch: false forwards everything as it came.',
  }),
  mode: setting({
    env: ['MCP_PRUNER_MODE'],
    toml: 'mode',
    rule: oneOf(['prune', 'shadow']),
    fallback: 'prune',
    doc: 'shadow forwards everything as it came and only reports what would have been saved.',
  }),
  minPruneChars: setting({
    env: ['MCP_PRUNER_MIN_PRUNE_CHARS'],
    toml: 'min_prune_chars',
    rule: wholeNumber(0),
    fallback: 4000,
    unit: 'characters',
    doc: 'Texts shorter than this are never touched.',
  }),
  maxInputChars: setting({
    env: ['MCP_PRUNER_MAX_INPUT_CHARS'],
    toml: 'max_input_chars',
    rule: wholeNumber(1),
    fallback: 2_000_000,
    unit: 'characters',
    doc: 'Texts longer than this pass whole.',
  }),
  maxBodyBytes: setting({
    env: ['MCP_PRUNER_MAX_BODY_BYTES'],
    toml: 'max_body_bytes',
    rule: wholeNumber(1),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc: 'Request bodies larger than this are streamed through without pruning.',
  }),
  maxPruneRatio: setting({
    env: ['MCP_PRUNER_MAX_PRUNE_RATIO'],
    toml: 'max_prune_ratio',
    rule: share(),
    fallback: 0.9,
    doc: 'Largest share of the lines of one text that may go: a ceiling, not a target.',
  }),
  minKeepLines: setting({
    env: ['MCP_PRUNER_MIN_KEEP_LINES'],
    toml: 'min_keep_lines',
    rule: wholeNumber(0),
    fallback: 20,
    unit: 'lines',
    doc: 'Fewest lines of one text that stay.',
  }),
  timeoutMs: setting({
    env: ['MCP_PRUNER_TIMEOUT_MS'],
    toml: 'timeout_ms',
    rule: wholeNumber(1, MAX_TIMER_MS),
    fallback: 1500,
    unit: 'ms',
    doc: 'Longest time that pruning may take for one text; after it the text passes whole.',
  }),
  includeMarkers: setting({
    env: ['MCP_PRUNER_INCLUDE_MARKERS'],
    toml: 'include_markers',
    rule: onOff(),
    fallback: true,
    doc: 'Whether a marker line stands where lines were cut. Without it an agent cannot see what to recover.',
  }),
  reasonLanguage: setting({
    env: ['MCP_PRUNER_REASON_LANGUAGE'],
    toml: 'reason_language',
    rule: oneOf(['fr', 'en']),
    fallback: 'fr',
    doc: 'Language of the reason in markers and annotations. What was sent before keeps its words.',
  }),
  annotateLines: setting({
    env: ['MCP_PRUNER_ANNOTATE_LINES'],
    toml: 'annotate_lines',
    rule: onOff(),
    fallback: false,
    doc: 'Whether kept lines carry their line number. Costs tokens and spoils edits that an agent copies.',
  }),
  neverPruneTools: setting({
    env: ['MCP_PRUNER_NEVER_PRUNE_TOOLS'],
    toml: 'never_prune_tools',
    rule: list('tool names (globs)'),
    fallback: [],
    doc: 'Results of these tools pass whole.',
  }),
  neverPrunePaths: setting({
    env: ['MCP_PRUNER_NEVER_PRUNE_PATHS'],
    toml: 'never_prune_paths',
    rule: list('file paths (globs)'),
    fallback: [],
    doc: 'These files pass whole.',
  }),
  pruneIdTtlS: setting({
    env: ['MCP_PRUNER_PRUNE_ID_TTL_S'],
    toml: 'prune_id_ttl_s',
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 7 * DAY_S,
    unit: 's',
    doc: 'How long an original can be recovered after its marker was last seen in a conversation.',
  }),
  sentTtlS: setting({
    env: ['MCP_PRUNER_SENT_TTL_S'],
    toml: 'sent_ttl_s',
    rule: wholeNumber(1, 100 * 365 * DAY_S),
    fallback: 90 * DAY_S,
    unit: 's',
    doc: 'How long it is known what was sent of a message, after the message was last seen. A session resumed within this time goes on with the very bytes that the provider knows; no text is kept for it.',
  }),
  storeMaxBytes: setting({
    env: ['MCP_PRUNER_STORE_MAX_BYTES'],
    toml: 'store_max_bytes',
    rule: wholeNumber(MIB),
    fallback: GIB,
    unit: 'bytes',
    doc: 'Size above which the store lets go of the originals that were not used for longest. While they come faster than they can be compressed or let go of, the file may grow to twice this, at most 256 MiB more, and 32 MiB of log beside it; beyond that no new original is taken and texts go unpruned.',
  }),
  storeConversationShare: setting({
    env: ['MCP_PRUNER_STORE_CONVERSATION_SHARE'],
    toml: 'store_conversation_share',
    rule: share(),
    fallback: 0.25,
    doc: 'Share of store_max_bytes that the originals of one conversation may take up; beyond it its new texts go unpruned, so that no conversation pushes those of others out.',
  }),
  storeSync: setting({
    env: ['MCP_PRUNER_STORE_SYNC'],
    toml: 'store_sync',
    rule: oneOf(['normal', 'full']),
    fallback: 'normal',
    doc: 'When a write to the store counts as done. normal outlives a killed process; after a power cut the last seconds may be missing, until the next turn of the conversation stores them again. full waits for the disk at each write and outlives a power cut as well.',
  }),
  maxEvents: setting({
    env: ['MCP_PRUNER_MAX_EVENTS'],
    toml: 'max_events',
    rule: wholeNumber(0, 100_000_000),
    fallback: 100_000,
    unit: 'events',
    doc: 'How many of the newest events the store keeps; 0 records none.',
  }),
  memoMaxBytes: setting({
    env: ['MCP_PRUNER_MEMO_MAX_BYTES'],
    toml: 'memo_max_bytes',
    rule: wholeNumber(0),
    fallback: 64 * MIB,
    unit: 'bytes',
    doc: 'Memory for decisions that were already made, which makes the next turn of a conversation cheap.',
  }),
  upstreamHeadersTimeoutMs: setting({
    env: ['MCP_PRUNER_UPSTREAM_HEADERS_TIMEOUT_MS'],
    toml: 'upstream_headers_timeout_ms',
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 600_000,
    unit: 'ms',
    doc: 'How long the upstream may take until its answer begins; 0 waits for ever.',
  }),
  upstreamBodyTimeoutMs: setting({
    env: ['MCP_PRUNER_UPSTREAM_BODY_TIMEOUT_MS'],
    toml: 'upstream_body_timeout_ms',
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 300_000,
    unit: 'ms',
    doc: 'How long an answer under way may stand still; a flowing stream has no limit. 0 waits for ever.',
  }),
  drainTimeoutMs: setting({
    env: ['MCP_PRUNER_DRAIN_TIMEOUT_MS'],
    toml: 'drain_timeout_ms',
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 30_000,
    unit: 'ms',
    doc: 'How long requests under way may go on after SIGTERM or Ctrl-C.',
  }),
  backend: setting({
    env: ['KIMI_PRUNING_BACKEND'],
    toml: 'backend',
    rule: oneOf(['heuristic', 'deepinfra', 'swe-pruner'], { cloud: 'deepinfra' }),
    fallback: 'heuristic',
    instead: 'heuristic',
    fallbackWords: 'heuristic, or swe-pruner when swe_pruner_url is set',
    doc: 'What ranks the lines. heuristic is local; deepinfra sends texts to a cloud service; swe-pruner asks the service at swe_pruner_url.',
  }),
  deepinfraApiKey: setting({
    env: ['DEEPINFRA_API_KEY'],
    toml: null,
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Key for the deepinfra backend.',
  }),
  deepinfraEndpointUrl: setting({
    env: ['DEEPINFRA_ENDPOINT_URL'],
    toml: 'deepinfra_endpoint_url',
    rule: httpUrl(),
    fallback: 'https://api.deepinfra.com/v1/inference/Qwen/Qwen3-Reranker-0.6B',
    doc: 'Rerank endpoint of the deepinfra backend.',
  }),
  deepinfraTimeoutMs: setting({
    env: ['DEEPINFRA_TIMEOUT_MS'],
    toml: 'deepinfra_timeout_ms',
    rule: wholeNumber(1, MAX_TIMER_MS),
    fallback: 20_000,
    unit: 'ms',
    doc: 'Longest time that a call of the deepinfra backend may take.',
  }),
  deepinfraMaxDocs: setting({
    env: ['DEEPINFRA_MAX_DOCS'],
    toml: 'deepinfra_max_docs',
    rule: wholeNumber(1, 100_000),
    fallback: 64,
    unit: 'lines',
    doc: 'Most lines that one call of the deepinfra backend sends.',
  }),
  swePrunerUrl: setting({
    env: ['MCP_PRUNER_SWE_PRUNER_URL'],
    toml: 'swe_pruner_url',
    rule: optional(httpUrl()),
    fallback: null,
    fallbackWords: 'none',
    doc: 'Address of a swe-pruner service for the backend of that name.',
  }),
  cacheTtlS: setting({
    env: ['MCP_PRUNER_CACHE_TTL_S'],
    toml: 'cache_ttl_s',
    rule: wholeNumber(0, 365 * DAY_S),
    fallback: 30,
    unit: 's',
    doc: 'How long the answer of a remote backend is remembered; 0 forgets it at once.',
  }),
  cacheMaxItems: setting({
    env: ['MCP_PRUNER_CACHE_MAX_ITEMS', 'MCP_PRUNER_CACHE_MAX_ENTRIES'],
    toml: 'cache_max_entries',
    rule: wholeNumber(0, 1_000_000),
    fallback: 256,
    unit: 'answers',
    doc: 'How many answers of a remote backend are remembered.',
  }),
  contextBudgetTokens: setting({
    env: ['MCP_PRUNER_CONTEXT_BUDGET_TOKENS'],
    toml: 'context_budget_tokens',
    rule: wholeNumber(0),
    fallback: 0,
    fallbackWords: '0 (off)',
    unit: 'tokens',
    doc: 'Size of a conversation above which old parts of it are stashed by themselves; 0 never does.',
  }),
  enableMcpIntrospection: setting({
    env: ['MCP_PRUNER_ENABLE_MCP_INTROSPECTION'],
    toml: 'enable_mcp_introspection',
    rule: onOff(),
    fallback: true,
    toggle: 'mcp-introspection',
    doc: 'Whether the MCP tools mcp_info and mcp_capabilities are offered.',
  }),
  enableResources: setting({
    env: ['MCP_PRUNER_ENABLE_RESOURCES'],
    toml: 'enable_resources',
    rule: onOff(),
    fallback: false,
    toggle: 'resources',
    doc: 'Whether MCP clients can read sc:// resources (events, originals, logs of agents), by tool and by protocol.',
  }),
  enableEventsBus: setting({
    env: ['MCP_PRUNER_ENABLE_EVENTS_BUS'],
    toml: 'enable_events_bus',
    rule: onOff(),
    fallback: false,
    toggle: 'events-bus',
    doc: 'Whether the MCP tool events_watch follows the events of all conversations.',
  }),
  enableIdempotency: setting({
    env: ['MCP_PRUNER_ENABLE_IDEMPOTENCY'],
    toml: 'enable_idempotency',
    rule: onOff(),
    fallback: false,
    toggle: 'idempotency',
    doc: 'Whether MCP tools that change something take an idempotency_key and replay their answer to a repeated call.',
  }),
  enableBulk: setting({
    env: ['MCP_PRUNER_ENABLE_BULK'],
    toml: 'enable_bulk',
    rule: onOff(),
    fallback: false,
    toggle: 'bulk',
    doc: 'Whether the MCP tools prune_batch and recover_batch are offered.',
  }),
  idempotencyTtlS: setting({
    env: ['MCP_PRUNER_IDEMPOTENCY_TTL_S'],
    toml: 'idempotency_ttl_s',
    rule: wholeNumber(1, 365 * DAY_S),
    fallback: DAY_S,
    unit: 's',
    doc: 'How long the answer to a call with an idempotency_key is replayed.',
  }),
};

export type SettingKey = keyof typeof table;

/** The effective configuration: frozen, read once at start and handed down. */
export type Settings = {
  readonly [K in SettingKey]: (typeof table)[K] extends Setting<infer T> ? T : never;
};

/** The table as rows, for code that treats all settings alike. */
export const rows: readonly { readonly key: SettingKey; readonly setting: Setting<unknown> }[] = Object.entries(
  table,
).map(([key, row]) => ({ key: key as SettingKey, setting: row as Setting<unknown> }));

/** Variables of the same prefix that are no setting of the table but mean something to this program. */
export const otherVariables: readonly string[] = ['MCP_PRUNER_CONFIG', 'MCP_PRUNER_CWD', 'MCP_PRUNER_RUN_SOCKET'];
