/** The format and transport of an agent's requests. */
export type Wire = 'messages' | 'responses' | 'chat';

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
  readonly encoding: '' | 'gzip';
  readonly seed: number;
}

/** One thing that happens. Each step has a seed of its own, so that leaving out a step changes no other. */
export interface Step {
  readonly kind:
    | 'turn'
    | 'count'
    | 'fork'
    | 'helper'
    | 'compact'
    | 'settings'
    | 'stash'
    | 'restart'
    | 'kill'
    | 'lock'
    | 'lose-store';
  readonly agent: number;
  readonly seed: number;
}

/** A whole run of one seed. */
export interface Plan {
  readonly seed: number;
  readonly agents: readonly AgentPlan[];
  readonly steps: readonly Step[];
  /** The only setting that is switched; absent: any. */
  readonly only?: string;
}

/** What the model answers next. */
export interface Script {
  /** The tools that it calls at once, by name and arguments. */
  readonly calls: readonly { readonly name: string; readonly args: Readonly<Record<string, unknown>> }[];
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
  readonly wire: Wire;
  readonly request: number;
  /** `dropped`: the model lost reasoning. `refused`: the request failed. `changed`: nothing checked, an item changed. */
  readonly effect: 'dropped' | 'refused' | 'changed';
  /** Index of the first item that differs from the request before; -1: the system prompt or the tools. */
  readonly item: number;
  /** The beginning of the difference. */
  readonly was: string;
  readonly is: string;
}
