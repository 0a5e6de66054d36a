import { headerSecret } from '../rules.ts';
import { setting } from './setting.ts';

/** Provider keys that the proxy adds to requests without one. */
export const providerKeySettings = {
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
    doc: "The proxy's own key at MCP_PRUNER_ANTHROPIC_URL, sent as x-api-key if a request has no provider key.",
  }),
};
