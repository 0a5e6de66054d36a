import { onOff, wholeNumber } from '../rules.ts';
import { DAY_S, setting } from './setting.ts';

/** Context GC, and which tools are offered. */
export const toolsSettings = {
  contextBudgetTokens: setting({
    env: ['MCP_PRUNER_CONTEXT_BUDGET_TOKENS'],
    toml: 'context_budget_tokens',
    rule: wholeNumber(0),
    fallback: 0,
    fallbackWords: '0 (off)',
    unit: 'tokens',
    doc: 'Size of a conversation above which old parts of it are stashed by themselves; 0 never does.',
  }),
  stashSeenAgain: setting({
    env: ['MCP_PRUNER_STASH_SEEN_AGAIN'],
    toml: 'stash_seen_again',
    rule: onOff(),
    fallback: false,
    doc: 'Whether older readings of files that were read again, and older results of calls that were made again, are stashed by themselves where that pays for what the provider must read anew.',
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
