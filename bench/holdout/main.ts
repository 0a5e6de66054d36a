/**
 * How often the comparison with a control group decides, and how often its interval is wrong, in made-up experiments whose true
 * saving is known: node bench/run.mjs holdout [experiments] [conversations] [share held out]
 *
 * Eleven shapes of what a conversation costs whole. A pruned one costs a fifth less, give or take a twentieth of itself.
 */

import { type ComparedConversation, holdoutOf } from '@mcp-pruner/ledger/holdout.ts';
import type { Arm } from '../../src/core/ports/ledger.ts';
import { randomFrom } from '../../test/helpers/random.ts';

const EXPERIMENTS = Number(process.argv[2] ?? 100);
const CONVERSATIONS = Number(process.argv[3] ?? 1_000);
const SHARE = Number(process.argv[4] ?? 0.1);
const SAVING = 0.2;

type Draw = (next: () => number) => number;

const normal: Draw = (next) => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
const logNormal =
  (sigma: number): Draw =>
  (next) =>
    Math.exp(sigma * normal(next) - sigma ** 2 / 2);
const power =
  (exponent: number): Draw =>
  (next) =>
    ((1 - next()) ** (-1 / exponent) * (exponent - 1)) / exponent;
const gamma: Draw = (next) => -(Math.log(1 - next()) + Math.log(1 - next())) / 2;

/** Costs with a mean of 1. */
const SHAPES: Readonly<Record<string, Draw>> = {
  normal: (next) => Math.max(0, 1 + 0.3 * normal(next)),
  gamma,
  exponential: (next) => -Math.log(1 - next()),
  'log-normal 0.8': logNormal(0.8),
  'log-normal 1': logNormal(1),
  'log-normal 1.2': logNormal(1.2),
  'log-normal 1.5': logNormal(1.5),
  'log-normal 2': logNormal(2),
  'power law 3': power(3),
  'power law 2.2': power(2.2),
  'a tenth eleven times as dear': (next) => (next() < 0.1 ? 5.5 : 0.5),
};

interface Outcome {
  decided: number;
  wrong: number;
  pairs: number;
}

/** @param longer - share by which pruned conversations go on longer because they are pruned */
function experiments(cost: Draw, seed: number, longer: number): Outcome {
  const next = randomFrom(seed);
  const outcome: Outcome = { decided: 0, wrong: 0, pairs: 0 };
  const truth = (1 - SAVING) * (1 + longer) - 1;
  for (let i = 0; i < EXPERIMENTS; i++) {
    const conversations = Array.from({ length: CONVERSATIONS }, (_, at): ComparedConversation => {
      const arm: Arm = at < CONVERSATIONS * SHARE ? 'control' : 'pruned';
      const whole = cost(next) * (arm === 'pruned' ? 1 + longer : 1);
      const dollars = arm === 'control' ? whole : whole * (1 - SAVING) * (1 + 0.05 * normal(next));
      const turns = Math.max(1, Math.round(20 * (arm === 'pruned' ? 1 + longer : 1) * logNormal(0.7)(next)));
      return { arm, turns, dollars, dollarsWithout: whole, firstRequestTokens: 20_000 * logNormal(0.5)(next) };
    });
    const result = holdoutOf(conversations);
    const interval = result?.dollarsPerConversation.interval ?? null;
    if (result?.method === 'pairs') outcome.pairs++;
    if (interval === null) continue;
    if (interval[0] > 0 || interval[1] < 0) outcome.decided++;
    if (truth < interval[0] || truth > interval[1]) outcome.wrong++;
  }
  return outcome;
}

for (const longer of [0, 0.1].slice(0, Number(process.argv[5] ?? 2))) {
  process.stdout.write(
    `${CONVERSATIONS} conversations, ${SHARE} held out, ${EXPERIMENTS} experiments, pruned ones ${100 * longer} % longer: decided, wrong, by pairs\n`,
  );
  for (const [i, [name, cost]] of Object.entries(SHAPES).entries()) {
    const { decided, wrong, pairs } = experiments(cost, 1_000 * i + 77, longer);
    process.stdout.write(`${name.padEnd(30)} ${decided} ${wrong} ${pairs}\n`);
  }
}
