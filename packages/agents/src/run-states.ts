/** State of the MCP pruner in one run; logged as `run:<state>`. */
export type RunState = 'init' | 'mcp_pruner_disabled' | 'starting' | 'running' | 'degraded' | 'shutdown';

export type RunEvent =
  | 'disabled_by_config'
  | 'config_resolved'
  | 'config_invalid'
  | 'connected'
  | 'connect_failed'
  | 'server_failed'
  | 'phase_ended';

interface Transition {
  readonly to: RunState;
  readonly message: string;
  /** The run lacks a tool that it should have. */
  readonly isFault?: boolean;
}

/** A state transition, as reported. */
interface RunReport {
  /** Log line with the names of both states. */
  readonly line: string;
  /** Text for the user, without state names. */
  readonly text: string;
  readonly isFault: boolean;
}

/** All transitions. None fails a run, and none is reversible within it: the next run begins at `init`. */
const transitions: Readonly<Record<RunState, Readonly<Partial<Record<RunEvent, Transition>>>>> = {
  init: {
    disabled_by_config: { to: 'mcp_pruner_disabled', message: 'no MCP server in this run' },
    config_resolved: { to: 'starting', message: 'pruner configured; the agent starts it' },
    config_invalid: {
      to: 'mcp_pruner_disabled',
      message: 'pruner enabled, but its configuration is invalid',
      isFault: true,
    },
  },
  starting: {
    connected: { to: 'running', message: 'pruner available' },
    connect_failed: {
      to: 'mcp_pruner_disabled',
      message: 'the agent did not start or reach the pruner',
      isFault: true,
    },
  },
  running: {
    server_failed: { to: 'degraded', message: 'pruner failed; the run continues without it', isFault: true },
    phase_ended: { to: 'shutdown', message: 'the agent ended, and the pruner with it' },
  },
  mcp_pruner_disabled: {
    phase_ended: { to: 'shutdown', message: 'the agent ended; no MCP server was running' },
  },
  degraded: {
    phase_ended: { to: 'shutdown', message: 'the agent ended; its pruner had failed' },
  },
  shutdown: {},
};

/** State machine for the pruner in one run. Events without a transition are ignored. */
export class RunLifecycle {
  readonly #report: (report: RunReport) => void;
  #state: RunState = 'init';

  constructor(report: (report: RunReport) => void) {
    this.#report = report;
  }

  get state(): RunState {
    return this.#state;
  }

  on(event: RunEvent, detail?: string): void {
    // if the agent ends before its server was seen, the server could not be started
    if (event === 'phase_ended' && this.#state === 'starting') this.on('connect_failed');
    const transition = transitions[this.#state][event];
    if (transition === undefined) return;
    const { to, message, isFault = false } = transition;
    const text = `${message}${detail ? ` (${detail})` : ''}`;
    this.#report({ line: `run:${this.#state} -> run:${to}: ${text}`, text, isFault });
    this.#state = to;
  }
}
