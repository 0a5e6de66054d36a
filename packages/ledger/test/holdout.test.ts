import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { difference } from '@mcp-pruner/money/interval.ts';
import type { Difference, HoldoutResult } from 'mcp-pruner/core/ports/ledger-report.ts';
import { anthropicMessages } from 'mcp-pruner/wires/dialects/anthropic-messages/dialect.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { chatBody, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { messagesBody, oneCall, toolResult, toolUse } from '../../../test/helpers/messages.ts';
import { randomFrom } from '../../../test/helpers/random.ts';
import { openPipeline, openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { type ComparedConversation, holdoutOf } from '../src/holdout.ts';

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

const NONE = {} as HoldoutResult;

const EXPERIMENTS = 120;
const LEAST = 0.95 * EXPERIMENTS;

it.each(['pairs', 'groups'] as const)(
  'of a hold-out, each row adds up: pruned less whole is the difference (%s)',
  (method) => {
    const next = randomFrom(7);
    const conversations = Array.from({ length: 200 }, (_, i): ComparedConversation => {
      const whole = 0.2 + 0.1 * next() + i / 1_000;
      const isControl = i % 4 === 0;
      const longer = method === 'groups' && !isControl ? 20 : 0;
      return {
        arm: isControl ? 'control' : 'pruned',
        turns: 10 + longer + Math.floor(3 * next()),
        dollars: isControl ? whole : whole * 0.7,
        dollarsWithout: whole,
        firstRequestTokens: 1_000 + i,
      };
    });
    const result = holdoutOf(conversations) ?? NONE;
    expect(result.method).toBe(method);
    const rows = Object.values(result).filter(
      (one): one is Difference => typeof one === 'object' && 'control' in one && 'difference' in one,
    );
    expect(rows.length).toBe(8);
    for (const { pruned, control, difference: change } of rows) expect(pruned - control).toBeCloseTo(change, 9);
  },
);

describe('the interval of a hold-out', () => {
  it.each(Object.keys(shapes(0)))(
    'is absent or contains the true difference in 95 of 100 experiments, costs %s',
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

  it('is absent if there are too few conversations', () => {
    const many = Array.from({ length: 500 }, (_, i) => i);
    expect(difference(many, many.slice(0, 29)).interval).toBeNull();
    expect(difference(many, many.slice(0, 30)).interval).not.toBeNull();
  });

  it('is absent, with a note, if a few conversations outweigh all others', () => {
    const uneven = Array.from({ length: 90 }, (_, i) => (i % 30 === 0 ? 1_000 : 1));
    expect(difference(uneven, uneven.slice(0, 60))).toMatchObject({ interval: null, tooSkewed: true });
  });
});

/** Conversations of which every tenth is left whole, and the others cost a fifth less than that. */
function conversations(seed: number, count: number, longer = 1): ComparedConversation[] {
  const next = randomFrom(seed);
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - next())) * Math.cos(2 * Math.PI * next());
  return Array.from({ length: count }, (_, i): ComparedConversation => {
    const arm = i % 10 === 0 ? 'control' : 'pruned';
    const goesOn = arm === 'pruned' ? longer : 1;
    const whole = Math.exp(1.2 * normal()) * goesOn;
    const turns = Math.round(20 * Math.exp(0.3 * normal()) * goesOn) + 1;
    const dollars = arm === 'control' ? whole : 0.8 * whole;
    return { arm, turns, dollars, dollarsWithout: whole, firstRequestTokens: 20_000 + 5_000 * next() };
  });
}

describe('the comparison with a control group', () => {
  it('reaches a decision with 1,000 conversations, and its interval contains the true difference', () => {
    const truth = -0.2 * Math.exp(1.2 ** 2 / 2);
    let [decided, wrong] = [0, 0];
    for (let seed = 0; seed < 12; seed++) {
      const { dollarsPerConversation, plan } = holdoutOf(conversations(seed + 500, 1_000)) ?? NONE;
      const [low, high] = dollarsPerConversation.interval ?? [Number.NaN, Number.NaN];
      if (high < 0) decided++;
      if (truth < low || truth > high) wrong++;
      expect(plan.more).toBe(0);
    }
    expect([decided >= 11, wrong <= 1]).toEqual([true, true]);
  });

  it('compares the groups themselves if pruned conversations last longer', () => {
    const result = holdoutOf(conversations(3, 1_000, 1.5)) ?? NONE;
    expect(result.method).toBe('groups');
    expect(result.turns.interval?.[0]).toBeGreaterThan(0);
    const { pruned, control, difference: found } = result.dollarsPerConversation;
    expect(Math.sign(found)).toBe(Math.sign(pruned - control));
  });

  it('reports how many more conversations are needed, at which share, and for how long', () => {
    const few = conversations(5, 100).map((one, i) => ({ ...one, firstMs: i * 3_600_000 }));
    const { plan, dollarsPerTurn } = holdoutOf(few.map((one) => ({ ...one, dollarsWithout: one.dollars }))) ?? NONE;
    expect(dollarsPerTurn.interval).toBeNull();
    expect(plan.share).toBe(0.5);
    expect(plan.more).toBeGreaterThan(0);
    expect(plan.days).toBe(Math.ceil(((plan.more ?? 0) * (99 / 24)) / 100));
  });

  it.each([
    ['control', 12],
    ['pruned', 3],
  ] as const)('has no interval for anything while one group is too small: %s', (arm, most) => {
    const all = conversations(9, 400);
    const few = all.filter((one) => one.arm === arm).slice(0, most);
    const result = holdoutOf([...all.filter((one) => one.arm !== arm), ...few]) ?? NONE;
    expect(result.enough).toBe(false);
    const { dollarsPerConversation, dollarsPerTurn, turns, withoutCuts, outputTokens, regretTokens } = result;
    for (const one of [dollarsPerConversation, dollarsPerTurn, turns, withoutCuts, outputTokens, regretTokens])
      expect(one).toMatchObject({ interval: null, tooSkewed: false });
    expect(result.plan.more).toBeGreaterThan(0);
  });

  it('gives the same result from a file of rows as from the ledger', async () => {
    const rows = conversations(7, 400);
    const folder = tempFolder();
    writeFileSync(
      join(folder, 'rows.ndjson'),
      `${rows.map((row, conversation) => JSON.stringify({ conversation, ...row })).join('\n')}\n`,
    );
    const { code, out } = await run(['report', '--from', 'rows.ndjson', '--json'], { cwd: folder });
    expect([code, JSON.parse(out)]).toEqual([0, { holdout: JSON.parse(JSON.stringify(holdoutOf(rows))) }]);
    expect((await run(['report', '--from', 'rows.ndjson'], { cwd: folder })).out).toContain('dollars a conversation');
    writeFileSync(join(folder, 'rows.ndjson'), '{"conversation":"a","arm":"whole"}\n');
    const broken = await run(['report', '--from', 'rows.ndjson'], { cwd: folder });
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('line 1: arm')]);
  });
});

const FIRST = oneResult(serverLog(200));
const GROWN = [...FIRST, ...toolTurn('c2', 'bash', { command: 'npm test' }, serverLog(150, 7))];

describe('a conversation of the control group', () => {
  it('stays in it after the hold-out is disabled, also after a restart', async () => {
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

  it('is never a conversation that was cut before the hold-out began', async () => {
    const store = openStore();
    const first = await openPipeline({ store }).rewrite(request(FIRST));
    const later = await openPipeline({ store, isHeldOut: () => true }).rewrite(request(GROWN));
    expect([first, later].map(({ heldOut, edits }) => [heldOut, edits.length])).toEqual([
      [false, 1],
      [false, 2],
    ]);
  });
});

const MESSAGES = messagesBody(oneCall(serverLog(200)));
const GROWN_MESSAGES = messagesBody([
  ...oneCall(serverLog(200)),
  { role: 'assistant', content: [toolUse('toolu_2', 'Bash', { command: 'npm test' })] },
  { role: 'user', content: [toolResult('toolu_2', serverLog(150, 7))] },
]);

describe.each([
  ['chat', openaiChat, chatBody(FIRST), chatBody(GROWN)],
  ['messages', anthropicMessages, MESSAGES, GROWN_MESSAGES],
] as const)('the arms of two sessions with the same first words, on %s', (_, dialect, first, grown) => {
  const of = (body: Buffer, session = '') => ({
    ...{ body, dialect },
    sessions: { claudeCode: session, codex: '', others: '' },
  });
  const outcomeOf = ({ heldOut, edits }: { heldOut: boolean; edits: readonly unknown[] }) => [heldOut, edits.length];
  /** Only the first session that asks is held out. */
  const onlyOne = () => {
    let held = '';
    return (id: string): boolean => {
      held ||= id;
      return id === held;
    };
  };

  it('are drawn for each session', async () => {
    const pipeline = openPipeline({ isHeldOut: onlyOne() });
    const outcomes = [
      await pipeline.rewrite(of(first, 's1')),
      await pipeline.rewrite(of(other(first), 's2')),
      await pipeline.rewrite(of(grown, 's1')),
    ];
    expect(outcomes.map(outcomeOf)).toEqual([
      [true, 0],
      [false, 1],
      [true, 0],
    ]);
  });

  it('do not affect sent texts: whole ones stay whole without the session and in the other arm', async () => {
    const store = openStore();
    const isHeldOut = onlyOne();
    await openPipeline({ store, isHeldOut }).rewrite(of(first, 's1'));
    for (const session of ['', 's2']) {
      expect(outcomeOf(await openPipeline({ store, isHeldOut }).rewrite(of(first, session)))).toEqual([false, 0]);
      const later = await openPipeline({ store, isHeldOut }).rewrite(of(grown, session));
      expect(later.outcomes.map(({ pruneId }) => pruneId !== null)).toEqual([false, true]);
    }
  });

  it('do not affect sent texts: cut ones stay cut in the control group', async () => {
    const store = openStore();
    const cut = await openPipeline({ store }).rewrite(of(first, 's1'));
    const again = await openPipeline({ store, isHeldOut: () => true }).rewrite(of(first, 's2'));
    expect([outcomeOf(again), again.body]).toEqual([[false, 1], cut.body]);
  });
});

/** The same first words, with another call. */
function other(body: Buffer): Buffer {
  return Buffer.from(body.toString().replaceAll('toolu_1', 'toolu_9').replaceAll('call_1', 'call_9'));
}

function request(messages: Parameters<typeof chatBody>[0]) {
  return { body: chatBody(messages), dialect: openaiChat };
}
