import type { Tool } from '../../tool.ts';

const BULK = '--enable-bulk';
const CHILDREN = '--enable-children';
const FINE = '--enable-child-ops-fine';

/** The tools of the fleet, with all flags that each needs. A tool whose flag is off is known by name only. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  child_create: [CHILDREN],
  child_list: [CHILDREN],
  child_status: [CHILDREN],
  child_cancel: [CHILDREN],
  child_kill: [CHILDREN],
  child_gc: [CHILDREN],
  child_spawn_codex: [FINE],
  child_attach: [FINE],
  child_set_role: [FINE],
  child_set_limits: [FINE],
  child_batch_create: [FINE, BULK],
  graph_mutate: ['--enable-graphs'],
  graph_diff: ['--enable-diff-patch'],
  graph_patch: ['--enable-diff-patch'],
  graph_lock: ['--enable-locks'],
  graph_unlock: ['--enable-locks'],
  graph_batch_mutate: ['--enable-graphs', BULK],
  tx_begin: ['--enable-tx'],
  tx_apply: ['--enable-tx'],
  tx_commit: ['--enable-tx'],
  tx_rollback: ['--enable-tx'],
  bb_set: ['--enable-blackboard'],
  bb_get: ['--enable-blackboard'],
  bb_query: ['--enable-blackboard'],
  bb_watch: ['--enable-blackboard'],
  bb_delete: ['--enable-blackboard'],
  bb_batch_set: ['--enable-blackboard', BULK],
  stig_mark: ['--enable-stigmergy'],
  stig_decay: ['--enable-stigmergy'],
  stig_snapshot: ['--enable-stigmergy'],
  stig_batch: ['--enable-stigmergy', BULK],
  plan_run_bt: ['--enable-bt'],
  plan_run_reactive: ['--enable-reactive-scheduler'],
  plan_status: ['--enable-plan-lifecycle'],
  plan_pause: ['--enable-plan-lifecycle'],
  plan_resume: ['--enable-plan-lifecycle'],
  plan_dry_run: ['--enable-plan-lifecycle'],
  op_cancel: ['--enable-cancellation'],
  plan_cancel: ['--enable-cancellation'],
  cnp_announce: ['--enable-cnp'],
  cnp_complete: ['--enable-cnp'],
};

/** What lets programs be started over HTTP: without it any program of this machine could. */
const TOKEN = 'MCP_PRUNER_AUTH_TOKEN';
/** What a tool names that nothing but this server's way to start keeps off. */
const NOWHERE = 'mcp-pruner serve';

/**
 * The first flag that keeps a tool of the fleet from being offered, or `null`.
 *
 * @param mayStart - whether callers may start programs: they came over stdio, or must show a token
 */
export function missingFlag(name: string, flags: ReadonlySet<string>, mayStart: boolean): string | null {
  const missing = NEEDS[name]?.find((flag) => !flags.has(flag));
  if (missing !== undefined) return missing;
  return name.startsWith('child_') && !mayStart ? TOKEN : null;
}

/** Stand-ins for the tools that are off, so that a call is told which flag is missing. */
export function absentTools(offered: readonly Tool[], flags: ReadonlySet<string>, mayStart: boolean): Tool[] {
  const there = new Set(offered.map(({ name }) => name));
  return Object.keys(NEEDS)
    .filter((name) => !there.has(name))
    .map((name): Tool => {
      const flag = missingFlag(name, flags, mayStart) ?? NOWHERE;
      return {
        name,
        flag,
        namespace: 'fleet',
        summary: '',
        description: '',
        faces: ['rpc'],
        inputSchema: {},
        call: () => Promise.reject(new Error('this tool is off')),
      };
    });
}
