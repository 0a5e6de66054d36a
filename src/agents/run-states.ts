/** The state of the MCP pruner of one run; the log shows it as `run:<state>`. */
export type RunState = 'init' | 'mcp_pruner_disabled' | 'starting' | 'running' | 'degraded' | 'shutdown';

/** An event of a run. */
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
  /** The run lost a tool that it should have had. */
  readonly isFault?: boolean;
}

/** A transition as it is reported. */
export interface RunReport {
  /** With the names of both states, for a log. */
  readonly line: string;
  /** For the user: no names of states. */
  readonly text: string;
  readonly isFault: boolean;
}

/** Every transition there is. None fails a run, and none is undone within it: the next run begins at `init`. */
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

/** Follows the pruner of one run. Events that mean nothing in a state are ignored. */
export class RunLifecycle {
  readonly #report: (report: RunReport) => void;
  #state: RunState = 'init';

  constructor(report: (report: RunReport) => void) {
    this.#report = report;
  }

  get state(): RunState {
    return this.#state;
  }

  /** @param detail - more about the reason, for the log */
  on(event: RunEvent, detail?: string): void {
    // an agent that ends before its server was ever seen could not start it
    if (event === 'phase_ended' && this.#state === 'starting') this.on('connect_failed');
    const transition = transitions[this.#state][event];
    if (transition === undefined) return;
    const { to, message, isFault = false } = transition;
    const text = `${message}${detail ? ` (${detail})` : ''}`;
    this.#report({ line: `run:${this.#state} -> run:${to}: ${text}`, text, isFault });
    this.#state = to;
  }
}
