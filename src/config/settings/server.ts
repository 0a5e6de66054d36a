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

/** Listening address, access, upstreams and reporting. */
export const serverSettings = {
  host: setting({
    rule: hostName(),
    fallback: '127.0.0.1',
    flag: 'host',
    doc: 'Address to listen on. If it is not loopback, MCP_PRUNER_AUTH_TOKEN, MCP_PRUNER_LOCAL_TOKEN=auto or MCP_PRUNER_REQUIRE_KEY is required.',
  }),
  port: setting({
    rule: wholeNumber(0, 65_535),
    fallback: 8006,
    flag: 'port',
    doc: 'Port to listen on; 0: any free one.',
  }),
  upstreamUrl: setting({
    rule: baseUrl(),
    fallback: 'https://api.openai.com/v1',
    flag: 'upstream-url',
    doc: 'Upstream of the chat and responses wires. The path after /v1 is appended.',
  }),
  anthropicUrl: setting({
    rule: baseUrl(),
    fallback: 'https://api.anthropic.com/v1',
    flag: 'anthropic-url',
    doc: 'Upstream of the messages wire (/v1/messages, and requests with anthropic-version).',
  }),
  geminiUrl: setting({
    rule: baseUrl(),
    fallback: 'https://generativelanguage.googleapis.com/v1beta',
    flag: 'gemini-url',
    doc: 'Upstream of the gemini wire (/v1beta, and generateContent below /v1).',
  }),
  authToken: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token for /rpc, /prune and /metrics. If the host is not loopback, this token, MCP_PRUNER_LOCAL_TOKEN=auto or MCP_PRUNER_REQUIRE_KEY is required.',
  }),
  localToken: setting({
    rule: oneOf(['off', 'auto']),
    fallback: 'off',
    doc: 'auto: without MCP_PRUNER_AUTH_TOKEN, the server creates a token in the file local-token next to the store, and /rpc, /prune and /metrics require it.',
  }),
  allowedHosts: setting({
    rule: list('host names, each with or without a port'),
    fallback: [],
    doc: 'Further allowed Host headers.',
  }),
  allowedOrigins: setting({
    rule: list('web origins such as http://localhost:3000'),
    fallback: [],
    doc: 'Further allowed origins of web pages. Requests from other pages are not pruned and may not use /rpc.',
  }),
  page: setting({
    rule: onOff(),
    fallback: true,
    fallbackWords: 'true on loopback, else false',
    doc: 'Serves the web page at /.',
  }),
  startFromHook: setting({
    rule: onOff(),
    fallback: false,
    doc: 'Lets the session-start hook of an agent plugin start the proxy if it is down and the agent is set up for it.',
  }),
  httpProxy: setting({
    env: ['http_proxy', 'HTTP_PROXY'],
    rule: optional(proxyUrl()),
    fallback: null,
    fallbackWords: 'none',
    secret: true,
    invalidEnvFallback: null,
    doc: 'Network proxy for http:// requests to upstreams and backends.',
  }),
  httpsProxy: setting({
    env: ['https_proxy', 'HTTPS_PROXY'],
    rule: optional(proxyUrl()),
    fallback: null,
    fallbackWords: 'that of HTTP_PROXY',
    secret: true,
    invalidEnvFallback: null,
    doc: 'Network proxy for https:// requests, by CONNECT. May contain a user name and a password.',
  }),
  noProxy: setting({
    env: ['no_proxy', 'NO_PROXY'],
    toml: null,
    rule: list(
      'host names, each including its subdomains, with or without a port, IP addresses and ranges of them; or *',
    ),
    fallback: [],
    doc: 'Hosts reached without a network proxy. Loopback addresses must be listed too.',
  }),
  dbPath: setting({
    rule: plainText('a file path'),
    fallback: '',
    flag: 'db-path',
    fallbackWords: '~/.local/share/mcp-pruner/store.db (or below XDG_DATA_HOME; on Windows %LOCALAPPDATA%)',
    doc: 'The SQLite file. A relative path in the TOML file is relative to that file.',
  }),
  databaseUrl: setting({
    rule: databaseUrl(),
    fallback: null,
    secret: true,
    doc: 'A PostgreSQL database (14 or newer) instead of the SQLite file, for several proxies (docs/team.md).',
  }),
  databaseWaitMs: setting({
    rule: wholeNumber(0, MAX_TIMER_MS),
    fallback: 15_000,
    unit: 'ms',
    doc: 'How long requests wait for an unavailable database if their history is stored only there; others wait 3 seconds (docs/team.md). Keep this below the time-outs of clients and load balancers.',
  }),
  logLevel: setting({
    rule: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { warning: 'warn' }),
    fallback: 'info',
    flag: 'log-level',
    doc: 'Least severe level to log. Request lines are info.',
  }),
  logFormat: setting({
    rule: oneOf(['auto', 'json', 'line'], {}),
    fallback: 'auto',
    doc: 'json; line (for people); auto (line on a terminal, else json).',
  }),
};
