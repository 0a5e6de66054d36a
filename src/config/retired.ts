/**
 * Settings of earlier versions by their key in the TOML file, and what replaced them. Their values are ignored with a
 * warning, so that an old file or environment never prevents the start.
 */
const RETIRED: Readonly<Record<string, string>> = {
  boldness: 'texts are cut as with balanced; a context_focus_question asks for more',
  verify: 'removed tokens are estimates, scaled by the figures of the provider',
  corrections: 'the words of users are not searched any more',
  learn: 'how boldly texts are cut is not learned any more',
  stash_seen_again: 'MCP_PRUNER_CONTEXT_BUDGET_TOKENS=auto puts old results aside once that pays',
  aws_region: 'AWS_REGION in the environment names the region',
  bt_tick_ms: 'behaviour trees are polled every 50 ms',
  budget_unpriced: 'requests of models without a price count at the highest price of any model',
  idempotency_ttl_s: 'answers are replayed for a day',
  log_format: 'lines are for people on a terminal, and JSON elsewhere',
  marker_style: 'MCP_PRUNER_INCLUDE_MARKERS=full writes each marker in full',
  min_output_chars:
    'the output of commands is pruned from 1,000 characters, or from a raised MCP_PRUNER_MIN_PRUNE_CHARS',
  sent_ttl_s: 'records of what was sent are kept for 90 days',
  stig_half_life_ms: 'the half-life is 30 s where stig_decay names none',
  upstream_body_timeout_ms: 'use MCP_PRUNER_UPSTREAM_TIMEOUT_MS',
  upstream_headers_timeout_ms: 'use MCP_PRUNER_UPSTREAM_TIMEOUT_MS',
  tool_shelf: 'clients defer unused tools themselves, and no description is shortened any more',
  tool_shelf_never: 'no description of a tool is shortened any more',
};

/** Warning about a retired setting, or `null`. @param key - its key in the TOML file; `shown` is its name in the warning */
export function retiredWarning(key: string, shown: string): string | null {
  const replacement = Object.hasOwn(RETIRED, key) ? RETIRED[key] : undefined;
  return replacement === undefined ? null : `${shown} is not a setting any more and is ignored: ${replacement}`;
}

/** Values of settings in earlier versions: what is used instead, and why. */
const RETIRED_VALUES: Readonly<Record<string, Readonly<Record<string, readonly [value: string, why: string]>>>> = {
  cold_stash: { provider: ['on', 'the provider is not asked any more to clear results itself'] },
};

/** The replacement of a retired value, or `null`. @param key - of the setting in the TOML file */
export function replacedValue(key: string | null, value: unknown): readonly [value: string, why: string] | null {
  const values = key !== null && Object.hasOwn(RETIRED_VALUES, key) ? RETIRED_VALUES[key] : undefined;
  return (typeof value === 'string' && Object.hasOwn(values ?? {}, value) ? values?.[value] : undefined) ?? null;
}
