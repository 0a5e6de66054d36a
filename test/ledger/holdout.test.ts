import { describe, expect, it } from 'vitest';
import { openaiChat } from '../../src/dialects/openai-chat/dialect.ts';
import { difference, randomFrom } from '../../src/ledger/interval.ts';
import { chatBody, oneResult, toolTurn } from '../helpers/chat.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

/** Costs with a mean, of shapes and seeds that the interval's method and level were not chosen on. */
function shapes(seed: number): Readonly<Record<string, (mean: number) => number>> {
  const next = randomFrom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  const exponential = (): number => -Math.log(1 - next());
  return {
    'log-normal, sigma 1': (mean) => mean * Math.exp(normal() - 0.5),
    'Weibull, shape 0.8': (mean) => (mean * exponential() ** 1.25) / 1.133,
    'geometric, as turns are': (mean) => Math.ceil(Math.log(1 - next()) / Math.log(1 - 1 / (10 * mean))) / 10,
    'one in five four times as dear': (mean) => (mean / 1.6) * (next() < 0.2 ? 4 : 1) * (0.5 + next()),
    uniform: (mean) => 2 * mean * next(),
    'log-normal, sigma 1.6': (mean) => mean * Math.exp(1.6 * normal() - 1.28),
    'one in fifteen twenty times as dear': (mean) => (mean / (34 / 15)) * (next() < 1 / 15 ? 20 : 1) * (0.5 + next()),
  };
}

const EXPERIMENTS = 200;
const LEAST = 0.95 * EXPERIMENTS;

describe('the interval of a hold-out', () => {
  it.each(Object.keys(shapes(0)))(
    'is not shown or holds the true difference in 95 of 100 experiments, costs %s',
    (name) => {
      const cost = shapes(424_242)[name] ?? ((mean: number) => mean);
      let held = 0;
      let shown = 0;
      for (let i = 0; i < EXPERIMENTS; i++) {
        const pruned = Array.from({ length: i % 5 === 0 ? 270 : 90 }, () => cost(1.4));
        const control = Array.from({ length: 30 }, () => cost(2));
        const { interval, tooSkewed } = difference(pruned, control);
        if (!tooSkewed) shown++;
        if (tooSkewed || (interval && interval[0] <= -0.6 && -0.6 <= interval[1])) held++;
      }
      expect(held).toBeGreaterThanOrEqual(LEAST);
      // so that it is of use
      expect(shown).toBeGreaterThan(0.6 * EXPERIMENTS);
    },
  );

  it('is none where there are too few to tell', () => {
    const many = Array.from({ length: 500 }, (_, i) => i);
    expect(difference(many, many.slice(0, 29)).interval).toBeNull();
    expect(difference(many, many.slice(0, 30)).interval).not.toBeNull();
  });

  it('is none where a few conversations outweigh all others, and says so', () => {
    const uneven = Array.from({ length: 90 }, (_, i) => (i % 30 === 0 ? 1_000 : 1));
    expect(difference(uneven, uneven.slice(0, 60))).toMatchObject({ interval: null, tooSkewed: true });
  });
});

const FIRST = oneResult(serverLog(200));
const GROWN = [...FIRST, ...toolTurn('c2', 'bash', { command: 'npm test' }, serverLog(150, 7))];

describe('a conversation of the control group', () => {
  it('stays one when nothing is held out any more, also after a restart', async () => {
    const store = openStore();
    const first = await openPipeline({ store, isHeldOut: () => true }).rewrite(request(FIRST));
    await new Promise((resolve) => setImmediate(resolve));
    const later = await openPipeline({ store, isHeldOut: () => false }).rewrite(request(GROWN));
    const last = await openPipeline({ store }).rewrite(request(GROWN));
    expect([first, later, last].map(({ heldOut, edits }) => [heldOut, edits.length])).toEqual([
      [true, 0],
      [true, 0],
      [true, 0],
    ]);
  });

  it('is none that was cut before all were held out', async () => {
    const store = openStore();
    const first = await openPipeline({ store }).rewrite(request(FIRST));
    const later = await openPipeline({ store, isHeldOut: () => true }).rewrite(request(GROWN));
    expect([first, later].map(({ heldOut, edits }) => [heldOut, edits.length])).toEqual([
      [false, 1],
      [false, 2],
    ]);
  });
});

function request(messages: Parameters<typeof chatBody>[0]) {
  return { body: chatBody(messages), dialect: openaiChat };
}
