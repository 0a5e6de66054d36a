import type { Rates } from '@mcp-pruner/money/prices.ts';
import { inputOf } from '@mcp-pruner/money/prices.ts';
import {
  billed,
  type CompactionRule,
  type Leftover,
  type PastTurn,
  PESSIMISTIC,
  paceOf,
  type Simulated,
  simulate,
  USUAL,
} from '@mcp-pruner/money/thresholds.ts';
import { findFileBlocks, ownWords } from '../../src/wires/transcript/file-blocks.ts';
import { Random } from '../fuzz/random.ts';
import { type Recording, requestTimes, type Usage } from '../recordings/conversation.ts';
import { contentOf } from './shown.ts';

/** Lengths and weights that are compared, in tokens. */
const TOKENS = [60_000, 80_000, 100_000, 120_000, 150_000, 200_000] as const;
const INPUT = 1_000_000; // a cost of 1 is an input token

function ratesOf({ outputPrice = 5 }: Recording, cached: number): Rates {
  const [input, output] = [INPUT, INPUT * outputPrice];
  return { input, write5m: 1.25 * input, write1h: 2 * input, read: cached * input, output };
}

/** Whether the messages that a request brings are the user's own words, and no result is among them. */
function isSeam({ messages }: Recording, one: Usage, before: Usage | undefined): boolean {
  if (before === undefined) return false;
  const brought = messages.slice(before.at + 1, one.at);
  const words = brought.filter(({ role }) => role === 'user').map((message) => contentOf(message));
  return (
    brought.every(({ role }) => role !== 'tool') && words.some((text) => ownWords(text, findFileBlocks(text)) !== '')
  );
}

/** The requests of a recording. @param cached - price of a cached token in input tokens */
export function turnsOf(recording: Recording, cached = 0.1): PastTurn[] {
  const times = new Map(requestTimes(recording).map(({ at, answeredMs }) => [at, answeredMs]));
  const rates = ratesOf(recording, cached);
  const { usage = [] } = recording;
  return usage.map((one, k) => ({
    ...{ fresh: one.fresh, read: one.read, output: one.output, write1h: one.written1h },
    ...{ write5m: one.written - one.written1h, atMs: times.get(one.at) ?? 0, rates },
    seam: isSeam(recording, one, usage[k - 1]),
  }));
}

/** Draws of random moments, whose mean is shown. */
const DRAWS = 5;

/** The control: as many moments as there are seams, at random requests of the same conversation. */
function atRandom(turns: readonly PastTurn[], seed: number): PastTurn[] {
  const random = new Random(seed);
  const left = turns.map((_, i) => i).slice(1);
  const moments = new Set(turns.flatMap(({ seam }) => (seam ? left.splice(random.below(left.length), 1) : [])));
  return turns.map((turn, i) => ({ ...turn, seam: moments.has(i) }));
}

/** Shares of the bill that are left, by rule, for one agent. */
export class SeamRows {
  readonly #byAgent = new Map<string, PastTurn[][]>();

  add(agent: string, turns: PastTurn[]): void {
    for (const name of [agent, 'all']) this.#byAgent.set(name, [...(this.#byAgent.get(name) ?? []), turns]);
  }

  /** A row for each agent and rule. What pays is decided by the pace of all agents, as in a project that all of them work on. */
  rows(): string[][] {
    const pace = paceOf((this.#byAgent.get('all') ?? []).map((turns) => turns.map(inputOf)));
    const agents = [...this.#byAgent].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return agents.flatMap(([agent, all]) => rowsOf(agent, all, pace));
  }
}

export const SEAM_HEAD = [
  '',
  'sessions',
  'seams',
  ...TOKENS.map((tokens) => `${tokens / 1000}k`),
  'compactions at 120k',
];

function rowsOf(agent: string, all: readonly PastTurn[][], pace: (tokens: number) => number): string[][] {
  const before = all.reduce((sum, turns) => sum + billed(turns), 0);
  const seams = all.reduce((sum, turns) => sum + turns.filter(({ seam }) => seam).length, 0);
  const drawn = Array.from({ length: DRAWS }, (_, draw) =>
    all.map((turns, i) => atRandom(turns, 1 + draw + i * DRAWS)),
  );
  const kinds: readonly [string, CompactionRule['at'], Leftover, boolean, (readonly PastTurn[][])[]?][] = [
    ['at seams that pay', 'seam', USUAL, true],
    ['at seams that pay, pessimistic', 'seam', PESSIMISTIC, true],
    ['at every seam', 'seam', USUAL, false],
    ['at as many random requests that pay', 'seam', USUAL, true, drawn],
    ['at as many random requests that pay, pessimistic', 'seam', PESSIMISTIC, true, drawn],
    ['at as many random requests', 'seam', USUAL, false, drawn],
    ["client's threshold", 'length', USUAL, false],
    ["client's threshold, pessimistic", 'length', PESSIMISTIC, false],
  ];
  return kinds.map(([name, at, leftover, pays, draws = [all]]) => {
    const of = (tokens: number): Simulated => {
      const each = draws.flat().map((turns) => simulate(turns, { at, tokens }, leftover, pays ? pace : undefined));
      return {
        cost: each.reduce((sum, { cost }) => sum + cost, 0) / draws.length,
        compactions: Math.round(each.reduce((sum, { compactions }) => sum + compactions, 0) / draws.length),
      };
    };
    const shares = TOKENS.map((tokens) => (of(tokens).cost / before).toFixed(3));
    return [`${agent}: ${name}`, String(all.length), String(seams), ...shares, String(of(120_000).compactions)];
  });
}
