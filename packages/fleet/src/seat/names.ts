/**
 * The fleet's tools by required flag; a tool that needs two flags is listed under both. For disabled tools, only the
 * names are known.
 */
const TOOLS_OF: Readonly<Record<string, readonly string[]>> = {
  '--enable-children': ['child_create', 'child_list', 'child_status', 'child_cancel', 'child_kill', 'child_gc'],
  '--enable-child-ops-fine': [
    'child_spawn_codex',
    'child_attach',
    'child_set_role',
    'child_set_limits',
    'child_batch_create',
  ],
  '--enable-graphs': ['graph_mutate', 'graph_batch_mutate'],
  '--enable-diff-patch': ['graph_diff', 'graph_patch'],
  '--enable-locks': ['graph_lock', 'graph_unlock'],
  '--enable-tx': ['tx_begin', 'tx_apply', 'tx_commit', 'tx_rollback'],
  '--enable-blackboard': ['bb_set', 'bb_get', 'bb_query', 'bb_watch', 'bb_delete', 'bb_batch_set'],
  '--enable-stigmergy': ['stig_mark', 'stig_decay', 'stig_snapshot', 'stig_batch'],
  '--enable-bt': ['plan_run_bt'],
  '--enable-reactive-scheduler': ['plan_run_reactive'],
  '--enable-plan-lifecycle': ['plan_status', 'plan_pause', 'plan_resume', 'plan_dry_run'],
  '--enable-cancellation': ['op_cancel', 'plan_cancel'],
  '--enable-cnp': ['cnp_announce', 'cnp_complete'],
  '--enable-bulk': ['child_batch_create', 'graph_batch_mutate', 'bb_batch_set', 'stig_batch'],
};

/** Tools that every agent needs, for recovering cut lines and searching earlier results. */
const OF_ALL = ['recover_text', 'recall'];

/**
 * Tool profiles for agents of the fleet, because the descriptions of all tools would add some 16,000 tokens to each
 * request. `fleet-lead` starts and monitors children, `fleet-worker` is a child, `fleet-planner` works on graphs.
 */
export const PROFILES: Readonly<Record<string, readonly string[]>> = {
  'fleet-lead': [
    ...OF_ALL,
    ...['child_create', 'child_list', 'child_status', 'child_cancel'],
    ...['bb_set', 'bb_get', 'bb_query', 'graph_mutate'],
  ],
  'fleet-worker': [...OF_ALL, 'bb_set', 'bb_get', 'bb_query', 'graph_batch_mutate', 'stig_mark'],
  'fleet-planner': [
    ...OF_ALL,
    ...['plan_run_bt', 'plan_status', 'plan_dry_run', 'plan_cancel', 'graph_mutate', 'bb_query'],
  ],
};

export const TOOL_NAMES: readonly string[] = [...new Set(Object.values(TOOLS_OF).flat())];

/** The token required for starting programs over HTTP; without it, any local program could do so. */
const TOKEN = 'MCP_PRUNER_AUTH_TOKEN';
/**
 * The first missing flag of a fleet tool, or `null`.
 *
 * @param mayStart - whether callers may start programs (stdio, or a token is required)
 */
export function missingFlag(name: string, flags: ReadonlySet<string>, mayStart: boolean): string | null {
  const missing = Object.entries(TOOLS_OF).find(([flag, names]) => names.includes(name) && !flags.has(flag));
  if (missing !== undefined) return missing[0];
  return name.startsWith('child_') && !mayStart ? TOKEN : null;
}
