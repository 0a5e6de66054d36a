import { headerSecret, onOff } from '../rules.ts';
import { setting } from './setting.ts';

/** The proxy's access keys, and shared provider keys. */
export const keysSettings = {
  requireKey: setting({
    rule: onOff(),
    fallback: false,
    fallbackWords: 'true where the host is not loopback and MCP_PRUNER_DATABASE_URL is set, else false',
    doc: 'Requires a key of mcp-pruner keys create with each request: header x-mcp-pruner-key, or base URL /k/<key>/v1. /health needs none; /metrics needs MCP_PRUNER_AUTH_TOKEN or a key of all projects (docs/team.md).',
  }),
  upstreamApiKey: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: "The proxy's own key at MCP_PRUNER_UPSTREAM_URL, sent as Authorization: Bearer if a request has no provider key.",
  }),
  anthropicApiKey: setting({
    env: ['MCP_PRUNER_ANTHROPIC_API_KEY', 'MCP_PRUNER_UPSTREAM_ANTHROPIC_API_KEY'],
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'The same at MCP_PRUNER_ANTHROPIC_URL, sent as x-api-key.',
  }),
};
