import { caseSeed, Random } from '../fuzz/random.ts';
import type { AgentPlan, Plan, Step, Wire } from './types.ts';

const AGENTS_AT_ONCE = 10;

export interface PlanOptions {
  readonly agents: number;
  readonly turns: number;
  /** Whether the proxy can be restarted with other settings. */
  readonly hasControl: boolean;
  /** The only setting that is switched, and by each switch; default: any. */
  readonly only?: string | undefined;
}

/** Everything that happens in the run of a seed. */
export function planOf(seed: number, { agents: count, turns, hasControl, only }: PlanOptions): Plan {
  const random = new Random(caseSeed(seed, 0));
  const agents = random.list(count, () => agentOf(random));
  const steps: Step[] = [];
  // a lost store cannot be repaired once settings have changed, so that such a run changes none
  const isCalm = random.once(6) && only === undefined;
  const left = agents.map(() => turns);
  while (left.some((more) => more > 0)) {
    const open = left.flatMap((more, i) => (more > 0 ? [i] : [])).slice(0, AGENTS_AT_ONCE);
    const agent = open[random.below(open.length)] ?? 0;
    left[agent] = (left[agent] ?? 0) - 1;
    steps.push({ kind: 'turn', agent, seed: random.next() });
    const kind = only !== undefined && random.once(6) ? 'settings' : somethingElse(random, isCalm, hasControl);
    if (kind !== null) steps.push({ kind, agent, seed: random.next() });
  }
  return { seed, agents, steps, ...(only !== undefined && { only }) };
}

function agentOf(random: Random): AgentPlan {
  const wire = random.pick<Wire>(['messages', 'messages', 'messages', 'responses', 'responses', 'responses', 'chat']);
  const isDelta = wire !== 'chat' && random.once(3);
  const model =
    wire === 'messages'
      ? 'claude-opus-5'
      : wire === 'chat'
        ? 'qwen3-coder'
        : random.pick(['gpt-6.2-sol', 'gpt-6.2-sol', 'gpt-6.3', 'gpt-5.1']);
  return {
    wire,
    state: isDelta ? 'delta' : 'whole',
    socket: wire === 'responses' && isDelta && random.once(2),
    model,
    drops: wire === 'messages' && random.once(2),
    stream: random.once(2),
    encoding: random.once(6) ? 'gzip' : '',
    seed: random.next(),
  };
}

/** What may happen between two turns; `null`: nothing. */
function somethingElse(random: Random, isCalm: boolean, hasControl: boolean): Step['kind'] | null {
  const roll = random.below(400);
  if (roll < 12) return 'count';
  if (roll < 18) return 'fork';
  if (roll < 26) return 'compact';
  if (!hasControl) return null;
  if (roll < 28) return 'restart';
  if (roll < 31) return 'kill';
  if (isCalm) return roll < 32 ? 'lose-store' : null;
  if (roll < 40) return 'settings';
  if (roll < 42) return 'stash';
  return roll < 43 ? 'lock' : null;
}

/** Settings that are switched in mid-session; each run of the proxy has a few of them. */
const SWITCHES: readonly (readonly [name: string, ...values: [string, ...string[]]])[] = [
  ['MCP_PRUNER_ENABLED', 'false'],
  ['MCP_PRUNER_MODE', 'shadow'],
  ['MCP_PRUNER_MAX_PRUNE_RATIO', '0.5', '0.7'],
  ['MCP_PRUNER_MIN_PRUNE_CHARS', '500', '8000'],
  ['MCP_PRUNER_MIN_OUTPUT_CHARS', '300'],
  ['MCP_PRUNER_MIN_KEEP_LINES', '3'],
  ['MCP_PRUNER_MAX_BODY_BYTES', '30000', '90000'],
  ['MCP_PRUNER_MAX_INPUT_CHARS', '5000'],
  ['MCP_PRUNER_CONTEXT_BUDGET_TOKENS', '3000', '12000'],
  ['MCP_PRUNER_STASH_SEEN_AGAIN', 'true'],
  ['MCP_PRUNER_TOOL_SHELF', 'on'],
  ['MCP_PRUNER_HOLDOUT', '0.3'],
  ['MCP_PRUNER_NEVER_PRUNE_TOOLS', 'bash'],
  ['MCP_PRUNER_REASON_LANGUAGE', 'en'],
  ['MCP_PRUNER_MARKER_STYLE', 'full'],
  ['MCP_PRUNER_INCLUDE_MARKERS', 'true'],
  ['MCP_PRUNER_TIMEOUT_MS', '1'],
  ['MCP_PRUNER_RECALL', 'off'],
];

/** The settings that a step of kind `settings` brings, as environment variables. */
export function settingsOf(seed: number, only?: string): Record<string, string> {
  const random = new Random(seed);
  const [name, ...values] = SWITCHES.find(([known]) => known === only) ?? [];
  if (name !== undefined) return random.once(2) ? { [name]: random.pick(values as [string, ...string[]]) } : {};
  const count = random.below(4);
  const chosen = random.list(count, () => {
    const [chosenName, ...choices] = SWITCHES[random.below(SWITCHES.length)] ?? ['MCP_PRUNER_ENABLED', 'true'];
    return [chosenName, random.pick(choices as [string, ...string[]])] as const;
  });
  return Object.fromEntries(chosen);
}
