import { caseSeed, Random } from '../fuzz/random.ts';
import type { AgentPlan, Plan, Step, StepKind, Wire } from './types.ts';

const AGENTS_AT_ONCE = 10;

export interface PlanOptions {
  readonly agents: number;
  readonly turns: number;
  /** Whether the proxy can be restarted with other settings. */
  readonly hasControl: boolean;
  /** The wires of the agents. Default: all. */
  readonly wires?: readonly Wire[] | undefined;
  /** Requests hold whole histories, and are not compressed. */
  readonly isPlain?: boolean;
  /** As in `Plan`. */
  readonly only?: string | undefined;
  /** As in `Plan`. */
  readonly seams?: boolean;
}

/** Everything that happens in the run of a seed. */
export function planOf(
  seed: number,
  {
    agents: count,
    turns,
    hasControl,
    only,
    seams = false,
    wires = seams ? SEAM_WIRES : WIRES,
    isPlain = false,
  }: PlanOptions,
): Plan {
  const random = new Random(caseSeed(seed, 0));
  const agents = random.list(count, () => {
    const agent = agentOf(random, only, wires, seams);
    return isPlain ? { ...agent, state: 'whole' as const, socket: false, encoding: '' as const } : agent;
  });
  const steps: Step[] = [];
  // a lost store cannot be repaired once settings have changed, so that such a run changes none
  const isCalm = random.once(6);
  const events = seams ? WITH_SEAMS : eventsFor(only, isCalm, hasControl);
  const left = agents.map(() => turns);
  while (left.some((more) => more > 0)) {
    const open = left.flatMap((more, i) => (more > 0 ? [i] : [])).slice(0, AGENTS_AT_ONCE);
    const agent = open[random.below(open.length)] ?? 0;
    left[agent] = (left[agent] ?? 0) - 1;
    steps.push({ kind: 'turn', agent, seed: random.next() });
    const kind = eventOf(random, events);
    if (kind !== null) steps.push({ kind, agent, seed: random.next() });
  }
  return { seed, agents, steps, ...(only !== undefined && { only }), ...(seams && { seams }) };
}

const MODELS = {
  messages: ['claude-opus-5', 'claude-sonnet-5'],
  responses: ['gpt-6.2-sol', 'gpt-6.2-sol', 'gpt-6.3', 'gpt-5.1'],
  chat: ['qwen3-coder'],
  gemini: ['gemini-3-pro'],
  interactions: ['gemini-3-pro', 'gemini-3-flash'],
} as const satisfies Record<Wire, readonly [string, ...string[]]>;

/** Models with prices. */
const SEAM_MODELS = { ...MODELS, responses: ['gpt-6.2-sol', 'gpt-6.2-sol', 'gpt-6.2-astra', 'gpt-5.6'] } as const;

/** The provider can keep the history. */
const KEEPING: ReadonlySet<Wire> = new Set(['messages', 'responses', 'interactions']);

/** The wires that check are more frequent. */
const WIRES: readonly Wire[] = [
  ...(['messages', 'messages', 'messages', 'responses', 'responses', 'responses'] as const),
  ...(['chat', 'gemini', 'interactions'] as const),
];

/** Providers offer summaries on two wires. */
const SEAM_WIRES: readonly Wire[] = ['messages', 'messages', 'messages', 'responses', 'responses', 'responses', 'chat'];

function agentOf(random: Random, only: string | undefined, wires: readonly Wire[], seams: boolean): AgentPlan {
  const drawn = wires[random.below(wires.length)] ?? 'messages';
  const wire = only === undefined ? drawn : only === 'threads' ? 'messages' : 'responses';
  const isDelta = KEEPING.has(wire) && random.once(seams ? 8 : 3);
  const state = isDelta || only === 'threads' ? 'delta' : 'whole';
  return {
    wire,
    state,
    socket: wire === 'responses' && isDelta && random.once(2),
    model: seams ? random.pick(SEAM_MODELS[wire]) : only === undefined ? random.pick(MODELS[wire]) : MODELS[wire][0],
    drops: wire === 'messages' && random.once(2),
    stream: random.once(2),
    encoding: random.pick(['', '', '', '', 'gzip', 'zstd']),
    parts: random.once(4),
    seed: random.next(),
  };
}

/** A model that the agent may change to, and whether it checks its history. */
export function modelOf(
  { wire }: AgentPlan,
  seed: number,
  seams = false,
): { readonly model: string; readonly checks: boolean } {
  const model = new Random(seed).pick<string>((seams ? SEAM_MODELS : MODELS)[wire]);
  return { model, checks: checksHistory(wire, model) };
}

export function checksHistory(wire: Wire, model: string): boolean {
  if (wire === 'responses') return !model.startsWith('gpt-5');
  // nothing is documented of interactions, so that they are held to the same
  return wire === 'messages' || wire === 'interactions';
}

/** How often something happens after a turn, in 400. */
type Events = readonly (readonly [kind: StepKind, times: number])[];

const BY_AGENTS: Events = [
  ['count', 10],
  ['fork', 5],
  ['helper', 5],
  ['resume', 6],
  ['compact', 7],
  ['model', 4],
  ['rush', 3],
];
const FEATURES: Events = [
  ['settings', 9],
  ['project', 2],
  ['stash', 2],
  ['pin', 1],
  ['regret', 4],
  ['upgrade', 2],
];
const FAULTS: Events = [
  ['restart', 2],
  ['kill', 3],
  ['lock', 2],
  ['disk', 2],
  ['clock', 2],
  ['replica', 12],
];

/**
 * With summaries, the proxy is also killed while a request with one, or for one, is under way. Clients compact seldom: a
 * summary is not made shortly before.
 */
const WITH_SEAMS: Events = [
  ...BY_AGENTS.filter(([kind]) => kind !== 'compact' && kind !== 'resume'),
  ['compact', 2],
  ['resume', 40],
  ...FEATURES.filter(([kind]) => kind !== 'settings' && kind !== 'project'),
  ['settings', 4],
  ['project', 1],
  ...FAULTS.filter(([kind]) => kind !== 'replica'),
  ['kill-summary', 7],
  ['replica', 25],
];

/** Steps after which another run of the proxy goes on. */
const ENDS_RUN: ReadonlySet<StepKind> = new Set([
  ...(['settings', 'upgrade', 'restart', 'kill', 'kill-summary', 'lose-store'] as const),
]);

/** Whether the run of the proxy that begins before a step is killed, or has its disk filled. */
export function isDestroyed(steps: readonly Step[], from: number): boolean {
  for (let i = from; i < steps.length; i++) {
    const kind = steps[i]?.kind ?? 'turn';
    if (kind === 'kill' || kind === 'kill-summary' || kind === 'disk') return true;
    if (ENDS_RUN.has(kind)) return false;
  }
  return false;
}

function eventsFor(only: string | undefined, isCalm: boolean, hasControl: boolean): Events {
  if (only === 'threads' || only === 'header') return [['count', 4]];
  if (only === 'stash') return [['stash', 60]];
  if (only !== undefined) return [['settings', 60]];
  if (!hasControl) return BY_AGENTS;
  if (isCalm) return [...BY_AGENTS, ['restart', 2], ['kill', 3], ['replica', 12], ['lose-store', 1]];
  return [...BY_AGENTS, ...FEATURES, ...FAULTS];
}

/** What happens after a turn; `null`: nothing. */
function eventOf(random: Random, events: Events): StepKind | null {
  let roll = random.below(400);
  for (const [kind, times] of events) {
    roll -= times;
    if (roll < 0) return kind;
  }
  return null;
}

/** Settings under which a text cannot be put together again from its markers. */
export const UNMARKED: readonly string[] = ['MCP_PRUNER_INCLUDE_MARKERS', 'MCP_PRUNER_ANNOTATE_LINES'];

/** Settings that are switched in mid-session; each run of the proxy has a few of them. */
const SWITCHES: readonly (readonly [name: string, ...values: [string, ...string[]]])[] = [
  ['MCP_PRUNER_ENABLED', 'false'],
  ['MCP_PRUNER_MODE', 'shadow'],
  ['MCP_PRUNER_MAX_PRUNE_RATIO', '0.5', '0.7'],
  ['MCP_PRUNER_MIN_PRUNE_CHARS', '500', '8000'],
  ['MCP_PRUNER_MIN_KEEP_LINES', '3'],
  ['MCP_PRUNER_MAX_BODY_BYTES', '30000', '90000'],
  ['MCP_PRUNER_MAX_INPUT_CHARS', '5000'],
  ['MCP_PRUNER_CONTEXT_BUDGET_TOKENS', '3000', '12000'],
  ['MCP_PRUNER_CONTEXT_BUDGET_TOKENS', 'auto'],
  ['MCP_PRUNER_COLD_STASH', 'off', 'measure'],
  ['MCP_PRUNER_HOLDOUT', '0.3'],
  ['MCP_PRUNER_NEVER_PRUNE_TOOLS', 'bash'],
  ['MCP_PRUNER_NEVER_PRUNE_PATHS', '**/*.ts'],
  ['MCP_PRUNER_REASON_LANGUAGE', 'en'],
  ['MCP_PRUNER_INCLUDE_MARKERS', 'full'],
  ['MCP_PRUNER_ANNOTATE_LINES', 'true'],
  ['MCP_PRUNER_INCLUDE_MARKERS', 'false'],
  // a limit that passes on any machine
  ['MCP_PRUNER_TIMEOUT_MS', '1'],
  ['MCP_PRUNER_RECALL', 'off'],
];

/** The settings that a step of kind `settings` brings, as environment variables. */
export function settingsOf(seed: number, { seed: ofPlan, only }: Pick<Plan, 'seed' | 'only'>): Record<string, string> {
  const random = new Random(seed);
  const [name, ...values] = SWITCHES.find(([known]) => known === only) ?? [];
  if (name !== undefined) return random.once(2) ? { [name]: random.pick(values as [string, ...string[]]) } : {};
  const chosen = random.list(random.below(4), () => {
    const [chosenName, ...choices] = SWITCHES[random.below(SWITCHES.length)] ?? ['MCP_PRUNER_ENABLED', 'true'];
    return [chosenName, random.pick(choices as [string, ...string[]])] as const;
  });
  // lines can be read back only in a plan without these
  return Object.fromEntries(chosen.filter(([chosenName]) => ofPlan % 4 === 0 || !UNMARKED.includes(chosenName)));
}

/** Arguments of `mcp-pruner projects` for a step of kind `project`. */
export function projectOf(seed: number): readonly string[] {
  return new Random(seed).pick<readonly string[]>([
    ['--mode', 'shadow'],
    ['--mode', 'off'],
    ['--mode', 'none', '--holdout', 'none'],
    ['--holdout', '0.5'],
    ['--language', 'en'],
    ['--cold-stash', 'off'],
    ['--never-prune-tools', 'read_file'],
    ['--never-prune-paths', '*.log'],
  ]);
}

const HOUR_MS = 3_600_000;

/** How far a step of kind `clock` moves the clock, from its real time. Texts are kept for seven days. */
export function offsetOf(seed: number): number {
  return new Random(seed).pick([0, HOUR_MS, -HOUR_MS, 24 * HOUR_MS, -24 * HOUR_MS, 5 * 24 * HOUR_MS]);
}
