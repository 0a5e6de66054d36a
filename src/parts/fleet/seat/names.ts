/**
 * The fleet's tools by required flag; a tool that needs two flags is listed under both. Of tools whose flag is off,
 * only the names are known.
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

/** Tools that every agent needs: to recover cut lines, and to search earlier tool results. */
const OF_ALL = ['recover_text', 'recall'];

/**
 * Sets of tools for an agent of the fleet, by name: the descriptions of all of its tools would add some 16,000 tokens
 * to each request of an agent. `fleet-lead` starts and watches children, `fleet-worker` is one of them, `fleet-planner`
 * works on graphs.
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

/** All tools of the fleet. */
export const TOOL_NAMES: readonly string[] = [...new Set(Object.values(TOOLS_OF).flat())];

/** The token required to start programs over HTTP: without it any local program could. */
const TOKEN = 'MCP_PRUNER_AUTH_TOKEN';
/**
 * The first missing flag of a fleet tool, or `null`.
 *
 * @param mayStart - whether callers may start programs: they use stdio, or must present a token
 */
export function missingFlag(name: string, flags: ReadonlySet<string>, mayStart: boolean): string | null {
  const missing = Object.entries(TOOLS_OF).find(([flag, names]) => names.includes(name) && !flags.has(flag));
  if (missing !== undefined) return missing[0];
  return name.startsWith('child_') && !mayStart ? TOKEN : null;
}
