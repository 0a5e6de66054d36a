import { Random } from '../fuzz/random.ts';
import { Agent, type Ground } from './agents.ts';
import { Correspondent, runName } from './correspondent.ts';
import { checksHistory, isDestroyed, modelOf, offsetOf, projectOf, settingsOf, UNMARKED } from './plan.ts';
import { Rpc } from './rpc.ts';
import type { Control, Mend, Target } from './target.ts';
import type { AgentPlan, Break, Plan, StepKind } from './types.ts';
import type { CheckingUpstream } from './upstream.ts';

/** The result of a plan. */
export interface Outcome {
  readonly requests: number;
  readonly sessions: number;
  /** Sent items that changed although they must not. */
  readonly breaks: readonly Break[];
  /** Items that changed where that only costs a cache miss, or was asked for. */
  readonly rewritten: number;
  /** Requests that began with a summary of the provider. */
  readonly swapped: number;
  /** Those of them that the provider refused. */
  readonly refused: number;
  /** Kills of the proxy while such a request, or one for a summary, was under way. */
  readonly killed: number;
  /** Sessions that ended with an error. */
  readonly failed: readonly string[];
  /** Cut results whose lines were read back, and those that were not the original. */
  readonly recovered: number;
  readonly lost: readonly string[];
}

/** Settings under which the original is sent where nothing checks, or histories are rewritten there. */
const REWRITING = [
  'MCP_PRUNER_ENABLED',
  'MCP_PRUNER_MODE',
  'MCP_PRUNER_MAX_BODY_BYTES',
  'MCP_PRUNER_CONTEXT_BUDGET_TOKENS',
];
/** Tokens that the provider reports, where summaries are made: per message, and before the first one. */
const TOKENS = 25_000;
const FIRST_TOKENS = 10_000;
const ENDED_PLAN: Omit<AgentPlan, 'seed'> = {
  ...{ wire: 'messages', state: 'whole', socket: false, model: 'claude-opus-5', drops: false },
  ...{ stream: false, encoding: '', parts: false },
};
const ENDED = 5;
const ENDED_TURNS = 16;
const ENDED_TOKENS = 3_000_000;
const ENDED_MS = 3 * 3_600_000;
/** After this time, every process knows that there are summaries. */
const FIRST_MS = 2 * 60_000;
const MAX_FAULT_TURNS = 3;
const AT_ONCE = 6;

type Action = (agent: Agent, seed: number) => Promise<void> | void;

/** Runs one plan, step by step. The same plan has the same course. */
export class World {
  readonly #plan: Plan;
  readonly #target: Target;
  readonly #upstream: CheckingUpstream;
  readonly #ground: Ground;
  readonly #rpc: Rpc;
  readonly #agents: Agent[] = [];
  /** Ids of agents whose history nobody can know any more. */
  readonly #excused = new Set<string>();
  /** Histories that nothing checks may have been rewritten. */
  #rewrites = false;
  #hasMarkers = true;
  #settings: Record<string, string> = {};
  /** The time of a run without steps of the clock. */
  #offsetMs = 0;
  /** Faults that last for some more turns. */
  #faults: { turns: number; readonly mend: Mend }[] = [];
  #made = 0;
  #killed = 0;
  /** The proxy is being started again. */
  #restarting: Promise<void> = Promise.resolve();
  /** Index of the next step. */
  #next = 0;

  constructor(plan: Plan, target: Target, upstream: CheckingUpstream) {
    this.#plan = plan;
    this.#target = target;
    this.#upstream = upstream;
    this.#rpc = new Rpc(() => target.url);
    const { only, steps } = plan;
    // where one thing is examined, or the store is lost, nothing else changes what is new
    const isSwitched = only === undefined ? !steps.some(({ kind }) => kind === 'lose-store') : only === 'header';
    this.#ground = {
      url: () => target.url,
      headers: target.headers,
      hasSeams: plan.seams === true,
      ready: () => this.#restarting,
      hasHeader: target.control !== null && isSwitched,
    };
  }

  async run(): Promise<Outcome> {
    const { control } = this.#target;
    if (control !== null) await this.#start(control);
    if (control !== null && this.#plan.seams === true) await this.#endSome(control);
    for (const plan of this.#plan.agents) this.#agents.push(this.#agentOf(plan));
    try {
      for (const { kind, agent: index, seed } of this.#plan.steps) {
        this.#next++;
        const agent = this.#agents[index];
        if (agent !== undefined) await this.#actions[kind](agent, seed);
      }
      if (control !== null) await this.#restart(control, 'SIGTERM', {});
      return await this.#outcome();
    } finally {
      for (const agent of this.#agents) agent.close();
      await this.#mend();
      await control?.stop('SIGKILL');
    }
  }

  #agentOf(plan: AgentPlan): Agent {
    return new Agent(plan, this.#correspondent(plan), this.#ground);
  }

  #correspondent({ wire, model }: AgentPlan): Correspondent {
    const at = new Correspondent(runName(this.#plan.seed, this.#made++), wire, checksHistory(wire, model));
    this.#upstream.add(at);
    if (this.#plan.seams === true) {
      at.hasSummaries = true;
      at.tokensOf = (messages) => FIRST_TOKENS + TOKENS * messages;
      const random = new Random(this.#plan.seed * 1_000 + this.#made);
      at.refuses = new Set(random.once(4) ? [random.pick([1, 5])] : []);
    }
    return at;
  }

  readonly #actions: Readonly<Record<StepKind, Action>> = {
    turn: async (agent, seed) => {
      await agent.turn(seed);
      await this.#mend(1);
    },
    count: (agent) => agent.count(),
    compact: (agent, seed) => agent.compact(seed),
    resume: (agent) => agent.resume(),
    model: (agent, seed) => {
      const { model, checks } = modelOf(agent.plan, seed, this.#plan.seams);
      agent.useModel(model, checks);
    },
    fork: async (agent, seed) => {
      const fork = agent.fork(this.#correspondent({ ...agent.plan, model: agent.model }), seed);
      if (this.#excused.has(agent.at.id)) this.#excused.add(fork.at.id);
      await this.#two(fork, seed);
    },
    helper: async ({ plan, session }, seed) =>
      this.#two(new Agent(plan, this.#correspondent(plan), this.#ground, session), seed),
    rush: async (_agent, seed) => {
      const some = this.#agents.slice(0, AT_ONCE);
      await Promise.all(some.map((agent, i) => agent.turn(seed + i)));
    },
    settings: (_agent, seed) => this.#controlled((control) => this.#configure(control, settingsOf(seed, this.#plan))),
    project: (_agent, seed) =>
      this.#controlled(async (control) => {
        this.#rewrites = true;
        await control.command(['projects', 'set', 'default', ...projectOf(seed)]);
      }),
    stash: (_agent, seed) => this.#controlled(() => this.#collect(seed, 'context_gc_prune', { action: 'stash' })),
    pin: (_agent, seed) => this.#controlled(() => this.#collect(seed, 'context_gc_pin', {})),
    regret: (agent, seed) => this.#controlled(() => this.#rpc.readSome(agent, seed)),
    upgrade: () =>
      this.#controlled((control) => {
        control.changeBuild();
        return this.#restart(control, 'SIGTERM', this.#settings);
      }),
    restart: () => this.#controlled((control) => this.#restart(control, 'SIGTERM', this.#settings)),
    kill: () => this.#controlled((control) => this.#restart(control, 'SIGKILL', this.#settings)),
    'kill-summary': (agent, seed) => this.#controlled((control) => this.#killAtSummary(control, agent, seed)),
    lock: (_agent, seed) => this.#controlled((control) => this.#fault(seed, () => control.lock())),
    disk: (_agent, seed) => this.#controlled((control) => this.#fault(seed, () => control.fillDisk())),
    clock: (_agent, seed) =>
      this.#controlled(async (control) => {
        // where nothing checks, old results are put aside after a pause
        this.#rewrites = true;
        control.moveClock(this.#offsetMs + offsetOf(seed));
      }),
    replica: () => this.#controlled(async (control) => control.nextReplica()),
    'lose-store': () => this.#controlled((control) => this.#lose(control)),
  };

  async #controlled(act: (control: Control) => Promise<void>): Promise<void> {
    if (this.#target.control !== null) await act(this.#target.control);
  }

  async #two(agent: Agent, seed: number): Promise<void> {
    this.#agents.push(agent);
    for (let i = 0; i < 2; i++) await agent.turn(seed + i);
  }

  async #configure(control: Control, settings: Record<string, string>): Promise<void> {
    this.#rewrites ||= REWRITING.some((name) => name in settings);
    this.#hasMarkers &&= !UNMARKED.some((name) => name in settings);
    await this.#restart(control, 'SIGTERM', settings);
  }

  async #restart(control: Control, signal: 'SIGTERM' | 'SIGKILL', settings: Record<string, string>): Promise<void> {
    await this.#mend();
    this.#settings = settings;
    for (const agent of this.#agents) agent.close();
    await control.stop(signal);
    await this.#start(control);
  }

  /** Kills the proxy during a turn, before or after the provider answers a request with a summary or for one. */
  async #killAtSummary(control: Control, agent: Agent, seed: number): Promise<void> {
    let killed: Promise<void> | null = null;
    const kill = (): Promise<void> => (killed ??= this.#restart(control, 'SIGKILL', this.#settings));
    const happen = (): Promise<void> => {
      this.#killed++;
      this.#restarting = kill();
      return this.#restarting;
    };
    this.#upstream.atSummary = { isAnswered: new Random(seed).once(2), happen };
    await agent.turn(seed);
    this.#upstream.atSummary = null;
    await kill();
  }

  get #seamSettings(): Record<string, string> {
    if (this.#plan.seams !== true) return {};
    const host = new URL(this.#upstream.origin).host;
    return { MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_SEAM_TOKENS: 'auto', MCP_PRUNER_SEAMS_HOSTS: host };
  }

  /**
   * Conversations that went on for a while and ended: without them, nobody knows whether a summary pays. After them one
   * with the first summary of all, because no other is used until every process has had time to notice that one.
   */
  async #endSome(control: Control): Promise<void> {
    for (let i = 0; i < ENDED; i++) await this.#talk(i);
    await this.#restart(control, 'SIGTERM', {}); // now all of them are in the ledger
    control.moveClock(ENDED_MS);
    await this.#talk(ENDED);
    await this.#restart(control, 'SIGTERM', {});
    this.#offsetMs = ENDED_MS + FIRST_MS;
    control.moveClock(this.#offsetMs);
  }

  async #talk(i: number): Promise<void> {
    const agent = this.#agentOf({ ...ENDED_PLAN, seed: 1 });
    agent.at.tokensOf = () => ENDED_TOKENS;
    for (let turn = 0; turn < ENDED_TURNS; turn++) await agent.turn(i * ENDED_TURNS + turn);
  }

  #start(control: Control): Promise<void> {
    const settings = { ...this.#seamSettings, ...this.#settings };
    return control.start(settings, isDestroyed(this.#plan.steps, this.#next));
  }

  async #fault(seed: number, begin: () => Promise<Mend>): Promise<void> {
    // what is sent meanwhile is not recorded, which only those notice that check
    this.#rewrites = true;
    this.#faults.push({ turns: 1 + new Random(seed).below(MAX_FAULT_TURNS), mend: await begin() });
  }

  /** Ends the faults that have lasted long enough. @param turns - that have passed; default: all end */
  async #mend(turns = MAX_FAULT_TURNS): Promise<void> {
    const ended = this.#faults.filter((fault) => fault.turns <= turns);
    this.#faults = this.#faults.filter((fault) => fault.turns > turns);
    for (const fault of this.#faults) fault.turns -= turns;
    for (const { mend } of ended) await mend();
  }

  async #lose(control: Control): Promise<void> {
    await this.#mend();
    for (const agent of this.#agents) agent.close();
    await control.stop('SIGTERM');
    await control.loseStore();
    await this.#start(control);
    // only a refusal says that a history was pruned, and a kept history is not sent again
    for (const { at, plan } of this.#agents) {
      at.loseStore();
      if (plan.wire !== 'messages' || plan.state === 'delta' || plan.drops) this.#excused.add(at.id);
    }
  }

  /** The user does to some segments what context GC suggests. */
  async #collect(seed: number, tool: string, args: object): Promise<void> {
    this.#rewrites = true;
    const analysis = await this.#rpc.call('context_gc_analyze', { project_id: 'default' });
    const { pruning_candidates: candidates = [] } = (analysis ?? {}) as {
      pruning_candidates?: { segment_id?: string }[];
    };
    const from = new Random(seed).below(Math.max(1, candidates.length - 5));
    const ids = candidates.flatMap(({ segment_id: id }) => id ?? []).slice(from, from + 5);
    if (ids.length > 0) await this.#rpc.call(tool, { project_id: 'default', segment_ids: ids, ...args });
  }

  async #outcome(): Promise<Outcome> {
    const breaks: Break[] = [];
    const failed: string[] = [];
    const lost: string[] = [];
    let [requests, rewritten, recovered, swapped, refused] = [0, 0, 0, 0, 0];
    if (this.#target.control !== null) await this.#rpc.ready();
    for (const agent of this.#agents) {
      const { at } = agent;
      requests += at.requests;
      swapped += at.swapped;
      refused += at.refused;
      const isExcused = this.#excused.has(at.id);
      const counted = at.breaks.filter(({ checked }) => !isExcused && (checked || !(this.#rewrites || agent.wasOff)));
      breaks.push(...counted);
      rewritten += at.breaks.length - counted.length;
      if (isExcused) continue;
      if (agent.failed !== '') failed.push(`${at.id}: ${agent.failed}`);
      if (this.#target.control === null || !this.#hasMarkers) continue;
      const back = await this.#rpc.readBack(agent);
      recovered += back.recovered;
      lost.push(...back.lost);
    }
    return {
      requests,
      sessions: this.#agents.length,
      breaks,
      rewritten,
      swapped,
      refused,
      killed: this.#killed,
      failed,
      recovered,
      lost,
    };
  }
}
