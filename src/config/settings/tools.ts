import { list, oneOf, wholeNumberOrAuto } from '../rules.ts';
import { type Features, setting } from './setting.ts';

export const ownFeatures: Features = {
  enableMcpIntrospection: { doc: 'Offers the MCP tools mcp_info and mcp_capabilities; on by default.' },
  enableResources: { doc: 'Lets MCP clients read sc:// resources (events, originals, logs of agents).' },
  enableEventsBus: { doc: 'Offers the MCP tool events_watch, which follows the events of all conversations.' },
  enableIdempotency: {
    doc: 'Lets MCP tools that change something take an idempotency_key and replay their answer to a repeated call.',
  },
  enableBulk: { doc: 'Offers the MCP tools prune_batch and recover_batch.' },
};

export const DEFAULT_FEATURES: readonly string[] = ['mcp-introspection'];

export const toolsSettings = {
  contextBudgetTokens: setting({
    rule: wholeNumberOrAuto(0),
    fallback: 0,
    fallbackWords: '0 (off)',
    unit: 'tokens',
    doc: 'Size of a conversation above which old results are stashed automatically; 0: never. auto: old results and arguments of calls are put aside once that pays within the requests that the conversation probably has left.',
  }),
  coldStash: setting({
    common: true,
    rule: oneOf(['on', 'measure', 'off']),
    fallback: 'on',
    doc: 'Puts old results aside when the provider has dropped its prompt cache anyway, where nothing checks the history. measure: only reports what it would save (docs/context-gc.md).',
  }),
  enable: setting({
    common: true,
    rule: list('features'),
    fallback: [],
    flag: 'enable',
    doc: 'Optional MCP features, listed below; -<name> leaves out one that another brings. --enable-<name> and --disable-<name> add to the list.',
  }),
};
