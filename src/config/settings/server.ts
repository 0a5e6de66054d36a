import {
  baseUrl,
  databaseUrl,
  headerSecret,
  hostName,
  list,
  oneOf,
  onOff,
  optional,
  plainText,
  proxyUrl,
  wholeNumber,
} from '../rules.ts';
import { MAX_TIMER_MS, setting } from './setting.ts';

/** Where it listens, who may come in, where requests go on to, and what is told. */
export const serverSettings = {
  host: setting({
    rule: hostName(),
    fallback: '127.0.0.1',
    flag: 'host',
    doc: 'Address to listen on. Any other than loopback requires MCP_PRUNER_AUTH_TOKEN or MCP_PRUNER_REQUIRE_KEY.',
  }),
  port: setting({
    rule: wholeNumber(0, 65_535),
    fallback: 8006,
    flag: 'port',
    doc: 'Port to listen on; 0 takes any free one.',
  }),
  upstreamUrl: setting({
    rule: baseUrl(),
    fallback: 'https://api.openai.com/v1',
    flag: 'upstream-url',
    doc: 'Where requests are forwarded to; what a client asks for below /v1 is appended.',
  }),
  anthropicUrl: setting({
    rule: baseUrl(),
    fallback: 'https://api.anthropic.com/v1',
    flag: 'anthropic-url',
    doc: 'Where requests of the messages wire (/v1/messages, and all that name an anthropic-version) are forwarded to.',
  }),
  geminiUrl: setting({
    rule: baseUrl(),
    fallback: 'https://generativelanguage.googleapis.com/v1beta',
    flag: 'gemini-url',
    doc: 'Where requests of the gemini wire (/v1beta, and generateContent below /v1) are forwarded to.',
  }),
  authToken: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token that /rpc, /prune and /metrics ask for. Required when the host is not loopback.',
  }),
  localToken: setting({
    rule: oneOf(['off', 'auto']),
    fallback: 'off',
    doc: 'auto: without MCP_PRUNER_AUTH_TOKEN, /rpc, /prune and /metrics ask for the token in the file local-token beside the store, which is made where there is none and which its owner alone can read.',
  }),
  allowedHosts: setting({
    rule: list('host names, each with or without a port'),
    fallback: [],
    doc: 'Further names under which clients may address the server (Host header), besides loopback and the host itself.',
  }),
  allowedOrigins: setting({
    rule: list('web origins such as http://localhost:3000'),
    fallback: [],
    doc: 'Web pages (Origin header) that may call the server, besides its own. Requests of other pages are not pruned and may not use /rpc.',
  }),
  page: setting({
    rule: onOff(),
    fallback: true,
    fallbackWords: 'true on loopback, else false',
    doc: 'Serves the page at /, on which a browser shows what was cut and saved. Beyond loopback it is off unless it is set.',
  }),
  httpProxy: setting({
    env: ['http_proxy', 'HTTP_PROXY'],
    rule: optional(proxyUrl()),
    fallback: null,
    fallbackWords: 'none',
    secret: true,
    instead: null,
    doc: 'Proxy for requests to http:// addresses: the upstream and remote backends.',
  }),
  httpsProxy: setting({
    env: ['https_proxy', 'HTTPS_PROXY'],
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
    rule: plainText('a file path'),
    fallback: '',
    fallbackWords: '~/.local/share/mcp-pruner/store.db (XDG_DATA_HOME is honoured; on Windows below %LOCALAPPDATA%)',
    doc: 'The SQLite file that keeps the originals. A relative path in the TOML file starts at that file.',
  }),
  databaseUrl: setting({
    rule: databaseUrl(),
    fallback: null,
    secret: true,
    doc: 'A PostgreSQL database (14 or newer) that keeps everything instead of the SQLite file, shared by any number of proxies: postgres://user:password@host:5432/database?sslmode=verify-full (docs/team.md).',
  }),
  databaseWaitMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 15_000,
    unit: 'ms',
    doc: 'How long an absence of the database is waited out by requests of which it alone knows how the past of their conversation was sent: sent otherwise, it would cost the cache of the provider, or be refused. All others go on without it after 3 seconds, and all do once it was away for longer. To be less than what clients and balancers wait for an answer to begin; 0 waits for nothing beyond the 3 seconds (docs/team.md).',
  }),
  logLevel: setting({
    rule: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { warning: 'warn' }),
    fallback: 'info',
    doc: 'Least severe kind of log line that is written. The line for each request is info.',
  }),
  logFormat: setting({
    rule: oneOf(['auto', 'json', 'line'], {}),
    fallback: 'auto',
    doc: 'How log lines look: json, one object a line; line, one line for people; auto, a line on a terminal and JSON elsewhere.',
  }),
};
