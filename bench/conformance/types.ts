/** A JSON object. */
export type Json = Record<string, unknown>;

/** The format of an agent's requests. */
export type Wire = 'messages' | 'responses' | 'chat' | 'gemini' | 'interactions';

/** How an agent works. Everything about it follows from this. */
export interface AgentPlan {
  readonly wire: Wire;
  /** `whole`: each request repeats the history. `delta`: it continues a stored answer (responses) or a thread (messages). */
  readonly state: 'whole' | 'delta';
  /** Responses only. */
  readonly socket: boolean;
  readonly model: string;
  /** The provider drops a block whose history changed, instead of refusing the request (messages only). */
  readonly drops: boolean;
  readonly stream: boolean;
  readonly encoding: '' | 'gzip' | 'zstd';
  /** Results are lists of parts instead of strings. */
  readonly parts: boolean;
  readonly seed: number;
}

/** What may happen. The last two groups need control over the proxy. */
export type StepKind =
  // the agents
  | 'turn'
  | 'count'
  | 'fork'
  | 'helper'
  | 'resume'
  | 'compact'
  | 'model'
  | 'rush'
  // features
  | 'settings'
  | 'project'
  | 'stash'
  | 'pin'
  | 'regret'
  | 'upgrade'
  // faults
  | 'restart'
  | 'kill'
  | 'kill-summary'
  | 'lock'
  | 'disk'
  | 'clock'
  | 'replica'
  | 'lose-store';

/** One thing that happens. Each step has a seed of its own, so that leaving out a step changes no other. */
export interface Step {
  readonly kind: StepKind;
  readonly agent: number;
  readonly seed: number;
}

/** A whole run of one seed. */
export interface Plan {
  readonly seed: number;
  readonly agents: readonly AgentPlan[];
  readonly steps: readonly Step[];
  /** The only thing that is switched: the name of a setting, `header`, `stash` or `threads`; absent: anything. */
  readonly only?: string;
  /** Finished work is summarised by the provider. */
  readonly seams?: boolean;
}

/** A call of a tool. `namespace`: the MCP server in which Codex declares it. */
export interface ScriptedCall {
  readonly name: string;
  readonly namespace?: string;
  readonly args: Readonly<Json>;
}

/** What the model answers next. */
export interface Script {
  /** The tools that it calls at once, by name and arguments. */
  readonly calls: readonly ScriptedCall[];
  readonly says: string;
  /** Statuses of failures before the answer. */
  readonly fails: number[];
  /** The answer waits until the client has gone. */
  readonly hangs: boolean;
  /** The provider no longer has what the request continues. */
  readonly forgets: boolean;
}

/** A sent item that changed, or was refused. */
export interface Break {
  readonly agent: string;
  /** The client's request, by the header `x-clients-hop`; absent without one. A proxy may send one several times. */
  readonly from?: string;
  readonly wire: Wire;
  readonly request: number;
  /** `dropped`: the model lost reasoning. `refused`: the request failed. `changed`: nothing checked, an item changed. */
  readonly effect: 'dropped' | 'refused' | 'changed';
  /** Whether the model checks its history. */
  readonly checked: boolean;
  /** Index of the first item that differs from the request before; -1: the system prompt or the tools. */
  readonly item: number;
  /** The beginning of the difference. */
  readonly was: string;
  readonly is: string;
}
