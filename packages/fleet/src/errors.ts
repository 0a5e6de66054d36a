import { PrunerError } from 'mcp-pruner/errors/errors.ts';
import type { ErrorRow } from 'mcp-pruner/errors/rows/error-row.ts';

export const errorsOfFleet = {
  'E-CHILD-NOT-FOUND': {
    rpc: -32020,
    http: null,
    hint: 'child_list shows the children there are.',
  },
  'E-CHILD-EXISTS': {
    rpc: -32021,
    http: null,
    hint: 'Choose another child_id, or remove the ended one with child_gc.',
  },
  'E-CHILD-STATE': {
    rpc: -32022,
    http: null,
    hint: 'data.state is its state; child_status waits for its end, child_cancel ends it.',
  },
  'E-CHILD-LIMIT': {
    rpc: -32023,
    http: null,
    about: 'more children, or a larger limit, than allowed',
    hint: 'data.allowed is the largest allowed value; end a child, or ask for less.',
  },
  'E-CHILD-COMMAND': {
    rpc: -32024,
    http: null,
    hint: 'Name a wired agent, or an absolute path of commands of MCP_PRUNER_CHILDREN.',
  },
  'E-CHILD-MANIFEST': {
    rpc: -32025,
    http: null,
    hint: 'data.reason says why; the file must be strict JSON inside a folder of roots of MCP_PRUNER_CHILDREN.',
  },
  'E-CHILD-START': {
    rpc: -32026,
    http: null,
    about: 'the process could not be started',
    hint: 'data.reason says why.',
  },
  'E-GRAPH-NOT-FOUND': {
    rpc: -32030,
    http: null,
    hint: 'graph_mutate, or expected_version 0, creates a graph; resources_list shows existing ones.',
  },
  'E-GRAPH-VERSION-CONFLICT': {
    rpc: -32031,
    http: null,
    hint: 'Read the graph again (data.found is its version) and repeat the call for that version.',
  },
  'E-GRAPH-MUTATION-LOCKED': {
    rpc: -32032,
    http: null,
    hint: 'Wait for data.expires_at or for graph_unlock, or name the holder as owner.',
  },
  'E-GRAPH-LOCK-HELD': {
    rpc: -32033,
    http: null,
    hint: 'Wait until data.expires_at, then try again.',
  },
  'E-GRAPH-LOCK-NOT-FOUND': {
    rpc: -32034,
    http: null,
    hint: 'It was released, or expired more than a day ago: take a new one with graph_lock.',
  },
  'E-GRAPH-INVARIANT': {
    rpc: -32035,
    http: null,
    about: "the change breaks the graph's own rules",
    hint: 'data.violations names each; nothing was changed.',
  },
  'E-GRAPH-OPERATION': {
    rpc: -32036,
    http: null,
    hint: 'data.index is the operation, data.reason the cause; nothing was changed.',
  },
  'E-GRAPH-PATCH': {
    rpc: -32037,
    http: null,
    hint: 'data.index and data.path name the operation, data.reason the cause; nothing was changed.',
  },
  'E-TX-NOT-FOUND': {
    rpc: -32038,
    http: null,
    hint: 'It was committed or rolled back: begin another with tx_begin.',
  },
  'E-TX-EXPIRED': {
    rpc: -32039,
    http: null,
    hint: 'Nothing of it was committed: begin another with tx_begin.',
  },
  'E-BB-NOTFOUND': {
    rpc: -32045,
    http: null,
    hint: 'It was never set, was deleted or has expired; bb_query shows what there is.',
  },
  'E-BB-VALUE': {
    rpc: -32046,
    http: null,
    hint: 'data.reason says why; nothing was stored.',
  },
  'E-STIG-TYPE': {
    rpc: -32047,
    http: null,
    hint: 'Name a type, such as busy or done.',
  },
  'E-BT-INVALID': {
    rpc: -32050,
    http: null,
    hint: 'data.problems names each problem; plan_dry_run checks a tree without running it.',
  },
  'E-BT-RUN-TIMEOUT': {
    rpc: -32051,
    http: null,
    about: 'the run exceeded timeout_ms',
    hint: 'Everything it had started was ended. Run it with background, or give it more time.',
  },
  'E-PLAN-NOT-FOUND': {
    rpc: -32052,
    http: null,
    hint: 'The id is the run_id of the call that started it; old runs are forgotten.',
  },
  'E-PLAN-STATE': {
    rpc: -32053,
    http: null,
    hint: 'data.state is its state; plan_status shows details.',
  },
  'E-PLAN-CANCELLED': {
    rpc: -32054,
    http: null,
    hint: 'A client cancelled it deliberately; run it again if it is still needed.',
  },
  'E-CNP-NO-BIDS': {
    rpc: -32055,
    http: null,
    hint: 'Start a child, or give manual_bids.',
  },
  'E-CNP-NOT-FOUND': {
    rpc: -32056,
    http: null,
    hint: 'The call_id is in the answer of cnp_announce.',
  },
  'E-FLEET-BOUND': {
    rpc: -32060,
    http: null,
    hint: 'data.bound names the limit; remove old entries.',
  },
  'E-FLEET-RATE': {
    rpc: -32061,
    http: null,
    hint: 'Wait data.retry_after_ms, then try again.',
  },
  child_unknown: {
    rpc: null,
    http: 403,
    hint: 'The token belongs to no child of this server.',
  },
  child_ended: {
    rpc: null,
    http: 403,
    hint: 'The child of this token has ended; its address ended with it.',
  },
  child_limit_exceeded: {
    rpc: null,
    http: 403,
    hint: 'This agent has used up a limit that it was started with; it must end now.',
  },
} as const satisfies Readonly<Record<string, ErrorRow>>;

/** A failure of the fleet. Its message contains the hint, because agents' clients mostly show only the message. */
export class FleetError extends PrunerError {
  constructor(code: keyof typeof errorsOfFleet, details?: Readonly<Record<string, unknown>>, options?: ErrorOptions) {
    super({ code, ...errorsOfFleet[code] }, details, options);
  }

  override get rpcMessage(): string {
    return `${this.code}: ${String(this.data.hint)}`;
  }
}
