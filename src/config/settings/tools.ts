import { list, oneOf, onOff, wholeNumber, wholeNumberOrAuto } from '../rules.ts';
import { DAY_S, optionalFeature, setting } from './setting.ts';

/** Context GC, and the offered tools. */
export const toolsSettings = {
  contextBudgetTokens: setting({
    rule: wholeNumberOrAuto(0),
    fallback: 0,
    fallbackWords: '0 (off)',
    unit: 'tokens',
    doc: 'Size of a conversation above which old results are stashed automatically; 0: never. auto: old results are put aside once that pays within the requests that the conversation probably has left.',
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
    doc: 'Optional MCP features, listed below. A setting of its own for a feature (MCP_PRUNER_ENABLE_<X>, --enable-<x>, --disable-<x>) wins.',
  }),
  enableMcpIntrospection: setting({
    rule: onOff(),
    fallback: true,
    toggle: true,
    doc: 'Offers the MCP tools mcp_info and mcp_capabilities.',
  }),
  enableResources: optionalFeature('Lets MCP clients read sc:// resources (events, originals, logs of agents).'),
  enableEventsBus: optionalFeature('Offers the MCP tool events_watch, which follows the events of all conversations.'),
  enableIdempotency: optionalFeature(
    'Lets MCP tools that change something take an idempotency_key and replay their answer to a repeated call.',
  ),
  enableBulk: optionalFeature('Offers the MCP tools prune_batch and recover_batch.'),
  idempotencyTtlS: setting({
    rule: wholeNumber(1, 365 * DAY_S),
    fallback: DAY_S,
    unit: 's',
    doc: 'How long the answer to a call with an idempotency_key is replayed.',
  }),
};
