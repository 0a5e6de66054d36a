import {
  baseUrl,
  databaseUrl,
  group,
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
    common: true,
    rule: hostName(),
    fallback: '127.0.0.1',
    flag: 'host',
    doc: 'Address to listen on. Beyond loopback, MCP_PRUNER_AUTH_TOKEN, MCP_PRUNER_LOCAL_TOKEN=auto or MCP_PRUNER_REQUIRE_KEY is required.',
  }),
  port: setting({
    common: true,
    rule: wholeNumber(0, 65_535),
    fallback: 8006,
    flag: 'port',
    doc: 'Port to listen on; 0: any free one.',
  }),
  upstreamUrl: setting({
    common: true,
    rule: baseUrl(),
    fallback: 'https://api.openai.com/v1',
    flag: 'upstream-url',
    doc: 'Upstream of the chat and responses wires. The path after /v1 is appended.',
  }),
  anthropicUrl: setting({
    common: true,
    rule: baseUrl(),
    fallback: 'https://api.anthropic.com/v1',
    flag: 'anthropic-url',
    doc: 'Upstream of the messages wire (/v1/messages, and requests with anthropic-version).',
  }),
  geminiUrl: setting({
    common: true,
    rule: baseUrl(),
    fallback: 'https://generativelanguage.googleapis.com/v1beta',
    flag: 'gemini-url',
    doc: 'Upstream of the gemini wire (/v1beta, and generateContent below /v1).',
  }),
  authToken: setting({
    common: true,
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'Bearer token for /rpc, /prune and /metrics.',
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
    common: true,
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
  networkProxies: setting({
    ...group({
      httpProxy: {
        env: ['http_proxy', 'HTTP_PROXY'],
        rule: optional(proxyUrl()),
        fallback: null,
        doc: 'for http:// addresses',
      },
      httpsProxy: {
        env: ['https_proxy', 'HTTPS_PROXY'],
        rule: optional(proxyUrl()),
        fallback: null,
        doc: 'for https:// addresses, by CONNECT; default: that for http://',
      },
      noProxy: {
        env: ['no_proxy', 'NO_PROXY'],
        rule: list(
          'host names, each including its subdomains, with or without a port, IP addresses and ranges of them; or *',
        ),
        fallback: [],
        doc: 'reached without a network proxy; loopback addresses must be listed too',
      },
    }),
    onlyFields: true,
    secret: true,
    invalidEnvFallback: { httpProxy: null, httpsProxy: null, noProxy: [] },
    doc: 'Network proxies for requests to upstreams and backends. Their URLs may contain a user name and a password.',
  }),
  dbPath: setting({
    common: true,
    rule: plainText('a file path'),
    fallback: '',
    flag: 'db-path',
    fallbackWords: '~/.local/share/mcp-pruner/store.db (or below XDG_DATA_HOME; on Windows %LOCALAPPDATA%)',
    doc: 'The SQLite file. A relative path in the TOML file is relative to that file.',
  }),
  databaseUrl: setting({
    common: true,
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
    common: true,
    rule: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'], { warning: 'warn' }),
    fallback: 'info',
    flag: 'log-level',
    doc: 'Least severe level to log. Request lines are info.',
  }),
};
