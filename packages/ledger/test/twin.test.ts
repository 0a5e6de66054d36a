import { type Bill, billOf } from '@mcp-pruner/money/bill.ts';
import type { Known } from '@mcp-pruner/money/known.ts';
import type { Price } from '@mcp-pruner/money/prices.ts';
import fc from 'fast-check';
import type { MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import { describe, expect, it } from 'vitest';
import { FakeProvider, type Piece, type ProviderRules } from './fake-provider.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const anthropic = { automatic: false, step: 1, input: 5, read: 0.5, output: 25 };
const providers: Readonly<Record<string, ProviderRules>> = {
  'writes for five minutes': { ...anthropic, minPrefix: 4_096, lifetimeMs: 5 * MINUTE, write: 6.25 },
  'writes for an hour': { ...anthropic, minPrefix: 1_024, lifetimeMs: HOUR, write: 10 },
  'caches by itself': {
    automatic: true,
    step: 128,
    minPrefix: 1_024,
    lifetimeMs: 10 * MINUTE,
    input: 1.75,
    write: 1.75,
    read: 0.175,
    output: 14,
  },
};

const priceOf = (rules: ProviderRules): Price => ({
  model: '*',
  provider: 'fake',
  from: null,
  automatic: rules.automatic,
  bands: [],
  input: rules.input,
  write5m: rules.write,
  write1h: rules.write,
  read: rules.read,
  output: rules.output,
  minPrefix: rules.minPrefix,
  cacheStep: rules.step,
  cacheMs: rules.lifetimeMs,
  day: '2026-11-23',
  source: 'made up',
});

/** A message of a conversation: its tokens, how many of them were cut, and how many bytes each token has. */
interface Message {
  readonly says: string;
  readonly tokens: number;
  readonly cut: number;
  readonly bytesPerToken: number;
}

interface Step {
  readonly model: string;
  readonly tools: string;
  readonly system: string;
  readonly messages: readonly Message[];
  readonly atMs: number;
  readonly output: number;
}

/** Bills a conversation by the ledger and by the provider, as it was sent and as it would have been. */
function bothWays(rules: ProviderRules, headTokens: number, steps: readonly Step[]) {
  const [sent, whole] = [new FakeProvider(rules), new FakeProvider(rules)];
  let known: Known | null = null;
  const bills: Bill[] = [];
  steps.forEach(({ model, tools, system, messages, atMs, output }, i) => {
    const head: Piece = { says: `${tools}/${system}`, tokens: headTokens };
    const shown = messages.map(({ says, tokens, cut }) => ({ says, tokens: tokens - cut }));
    const usage = sent.request(model, [head, ...shown], output, atMs);
    whole.request(model, [head, ...messages], output, atMs);
    let prefix = '';
    const facts: RequestFacts = {
      requestId: String(i),
      atMs,
      project: 'p',
      conversationId: 'c',
      wire: 'messages',
      model,
      arm: 'pruned',
      usage,
      tools,
      system,
      messages: messages.map(({ says, tokens, cut, bytesPerToken }) => {
        prefix = `${prefix}\n${says}`;
        return { prefix, bytes: (tokens - cut) * bytesPerToken, removed: cut, cuts: cut > 0 ? String(cut) : '' };
      }),
      bytes:
        headTokens * 4 + shown.reduce((sum, { tokens }, at) => sum + tokens * (messages[at]?.bytesPerToken ?? 4), 0),
      cacheUpTo: messages.length,
      cacheHourUpTo: rules.lifetimeMs === HOUR ? messages.length : null,
      texts: [],
      regrets: [],
      fresh: { from: known?.messages.length ?? 0, answerFrom: known?.messages.length ?? 0, tokens: 0 },
    };
    const bill = billOf(facts, known, { price: priceOf(rules), calibration: 1 });
    known = bill.known;
    bills.push(bill);
  });
  const dollars = bills.reduce((sum, bill) => sum + (bill.dollars ?? 0), 0);
  const without = bills.reduce((sum, bill) => sum + (bill.dollarsWithout ?? 0), 0);
  return { bills, dollars, without, billed: sent.dollars, twin: whole.dollars };
}

const message = fc.record({
  tokens: fc.integer({ min: 20, max: 30_000 }),
  share: fc.oneof(fc.constant(0), fc.double({ min: 0.05, max: 0.95, noNaN: true })),
  bytesPerToken: fc.double({ min: 2.5, max: 5, noNaN: true }),
});
const turn = fc.record({
  added: fc.array(message, { minLength: 1, maxLength: 3 }),
  gapMs: fc.oneof(
    { weight: 6, arbitrary: fc.integer({ min: 1_000, max: 4 * MINUTE }) },
    { weight: 1, arbitrary: fc.integer({ min: 11 * MINUTE, max: 50 * MINUTE }) },
    { weight: 1, arbitrary: fc.integer({ min: 2 * HOUR, max: 9 * HOUR }) },
  ),
  output: fc.integer({ min: 10, max: 3_000 }),
  change: fc.oneof({ weight: 12, arbitrary: fc.constant('') }, fc.constantFrom('model', 'tools', 'system')),
});
const conversation = fc.record({
  head: fc.integer({ min: 100, max: 20_000 }),
  turns: fc.array(turn, { minLength: 1, maxLength: 25 }),
});

function stepsOf(turns: readonly (typeof turn extends fc.Arbitrary<infer T> ? T : never)[]): Step[] {
  const messages: Message[] = [];
  const about = { model: 'm0', tools: 't0', system: 's0' };
  let atMs = 0;
  return turns.map(({ added, gapMs, output, change }, i) => {
    for (const { tokens, share, bytesPerToken } of added) {
      messages.push({ says: `message ${messages.length}`, tokens, cut: Math.floor(tokens * share), bytesPerToken });
    }
    atMs += gapMs;
    if (change === 'model' || change === 'tools' || change === 'system') about[change] = `${change}${i}`;
    return { ...about, messages: [...messages], atMs, output };
  });
}

describe('the bill of a conversation', () => {
  it.each(Object.entries(providers))(
    'equals that of the provider, with the saving of a twin without cuts, if the provider %s',
    (_, rules) => {
      fc.assert(
        fc.property(conversation, ({ head, turns }) => {
          const { dollars, billed, without, twin } = bothWays(rules, head, stepsOf(turns));
          expect(Math.abs(dollars - billed)).toBeLessThan(0.000_01);
          expect(Math.abs(without - twin)).toBeLessThan(0.005);
        }),
        { numRuns: 50, seed: 17 },
      );
    },
  );
});

describe('a prompt that became too short for the cache only through cuts', () => {
  const short = (cut: number): Step => ({
    ...{ model: 'm', tools: 't', system: 's', atMs: 0, output: 10 },
    messages: [{ says: 'a', tokens: 3_500, cut, bytesPerToken: 4 }],
  });

  it.each(['writes for five minutes', 'writes for an hour'])(
    'would have been written by the breakpoint if it %s',
    (name) => {
      const rules = { ...(providers[name] as ProviderRules), minPrefix: 1_024 };
      const { dollars, billed, without, twin } = bothWays(rules, 500, [short(3_200)]);
      expect(dollars).toBeCloseTo(billed, 9);
      expect(without).toBeCloseTo(twin, 9);
    },
  );
});

describe('a cache miss', () => {
  const rules = providers['writes for five minutes'] as ProviderRules;
  const big = (says: string, cut = 0): Message => ({ says, tokens: 10_000, cut, bytesPerToken: 4 });
  const first: Step = {
    model: 'm',
    tools: 't',
    system: 's',
    messages: [big('a'), big('b', 2_000)],
    atMs: 0,
    output: 10,
  };
  const next: Step = { ...first, messages: [...first.messages, big('c')], atMs: MINUTE };
  const cases: readonly [MissCause | null, string, Step, number][] = [
    [null, 'nothing changed', next, -1],
    ['expired', 'too much time went by', { ...next, atMs: 6 * MINUTE }, -1],
    ['model_changed', 'another model was asked', { ...next, model: 'other' }, -1],
    ['tools_changed', 'the tools are others', { ...next, tools: 'other' }, -1],
    ['system_changed', 'the system prompt is another', { ...next, system: 'other' }, -1],
    ['message_changed', 'the client changed a message', { ...next, messages: [big('a'), big('B'), big('c')] }, 1],
    [
      'changed_by_us',
      'we cut a message in another way',
      { ...next, messages: [big('a'), big('b', 3_000), big('c')] },
      1,
    ],
  ];

  it.each(cases)('has the cause %s when %s', (cause, _, step, at) => {
    // what the provider does not know as the same it does not read
    const renamed = { ...step, messages: step.messages.map((one) => ({ ...one, says: one.says })) };
    const { bills } = bothWays(rules, 5_000, [first, renamed]);
    const changed = cause === 'changed_by_us' ? missed(first, step) : bills[1];
    expect([bills[0]?.miss, changed?.miss, changed?.missAt]).toEqual(['first_request', cause, at]);
    if (cause === null) return;
    expect(changed?.missTokens).toBe(23_000);
    expect(changed?.missDollars).toBeCloseTo((23_000 * (6.25 - 0.5)) / 1_000_000, 6);
  });

  it('is recorded as put_aside if a directive stashed the message', () => {
    const step = { ...next, messages: [big('a'), big('b', 9_000), big('c')] };
    expect(missed(first, step, '*')).toMatchObject({ miss: 'put_aside', missAt: -1 });
    expect(missed(first, { ...step, atMs: 6 * MINUTE }, '*')).toMatchObject({ miss: 'expired' });
  });

  /** The fake provider goes by what messages are called: other cuts must have another name there. */
  function missed(before: Step, after: Step, mark = ''): Bill | undefined {
    const { bills } = bothWays(rules, 5_000, [before]);
    const known = bills[0]?.known ?? null;
    let prefix = '';
    const messages = after.messages.map(({ says, tokens, cut }) => {
      prefix = `${prefix}\n${says}`;
      return { prefix, bytes: (tokens - cut) * 4, removed: cut, cuts: cut > 0 ? `${mark}${cut}` : '' };
    });
    const total = 5_000 + after.messages.reduce((sum, { tokens, cut }) => sum + tokens - cut, 0);
    const usage = { input: total, output: 1, read: 0, written: total, written1h: 0 };
    const { atMs, model, tools, system } = after;
    const about = { requestId: 'x', project: 'p', conversationId: 'c', wire: 'messages', arm: 'pruned' } as const;
    const rest = { texts: [], regrets: [], cacheUpTo: 3, bytes: total * 4, fresh: { from: 2, tokens: 0 } };
    return billOf({ ...about, ...rest, atMs, model, tools, system, messages, usage }, known, {
      price: priceOf(rules),
      calibration: 1,
    });
  }

  it('has an unknown cause if nothing changed and the provider still did not read the cache', () => {
    const again = missed(first, next);
    expect([again?.miss, again?.missAt]).toEqual(['unknown', -1]);
  });
});
