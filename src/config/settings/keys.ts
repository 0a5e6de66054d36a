import { headerSecret, onOff } from '../rules.ts';
import { setting } from './setting.ts';

/** The proxy's access keys, and shared provider keys. */
export const keysSettings = {
  requireKey: setting({
    rule: onOff(),
    fallback: false,
    fallbackWords: 'true where the host is not loopback and MCP_PRUNER_DATABASE_URL is set, else false',
    doc: 'Each request must name a key made by mcp-pruner keys create, which opens its projects alone: in the header x-mcp-pruner-key, or as the last part of a base URL, /k/<key>/v1. /health asks for none, /metrics for MCP_PRUNER_AUTH_TOKEN or a key of all projects (docs/team.md).',
  }),
  upstreamApiKey: setting({
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: "The proxy's own key at MCP_PRUNER_UPSTREAM_URL, sent as Authorization: Bearer with requests that bring no key of the provider's.",
  }),
  anthropicApiKey: setting({
    env: ['MCP_PRUNER_ANTHROPIC_API_KEY', 'MCP_PRUNER_UPSTREAM_ANTHROPIC_API_KEY'],
    rule: headerSecret(),
    fallback: null,
    secret: true,
    doc: 'The same at MCP_PRUNER_ANTHROPIC_URL, sent as x-api-key.',
  }),
};
