import { type ClientPlace, headersJson, type JsonValue, type McpAccess, stdioJson } from './client.ts';

// Qwen Code is a fork of Gemini CLI: both use the same server format, and share a bug.

export function serverJson(mcp: McpAccess): JsonValue {
  return mcp.transport === 'http' ? { httpUrl: mcp.url, ...headersJson(mcp) } : stdioJson(mcp.server);
}

/** Clears these variables, because both clients send even loopback requests through the proxy and ignore NO_PROXY. */
export function withoutProxies({ env }: ClientPlace): Record<string, string> {
  const names = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].filter((name) => env[name]);
  return Object.fromEntries(names.map((name) => [name, '']));
}
