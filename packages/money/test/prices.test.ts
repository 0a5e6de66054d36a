import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { projectRoot } from '../../../test/helpers/project-files.ts';
import { billOf } from '../src/bill.ts';
import { dollarsOf, fittingName, type Price, Prices } from '../src/prices.ts';

const BUILT_IN = { path: 'built-in.toml', text: readFileSync(join(projectRoot, 'config/prices.toml'), 'utf8') };
const builtIn = new Prices([BUILT_IN]);
const NOW = Date.parse('2026-11-24T12:00:00Z');

/** A row of a file, by its model and what else stands in it. */
function row(model: string, rest: string): string {
  return `[[price]]\nmodel = "${model}"\nprovider = "p"\nday = "2026-11-01"\nsource = "made up"\n${rest}\n`;
}

const own = (text: string): Prices => new Prices([{ path: '/my/prices.toml', text }, BUILT_IN]);
const inputOf = (price: Price | null): number | null => price?.input ?? null;

describe('the installed prices', () => {
  it('each have a date and a source, and price cached tokens no higher than new ones', () => {
    const rows = builtIn.rows();
    expect([builtIn.problems, builtIn.warnings, rows.length > 80]).toEqual([[], [], true]);
    for (const price of rows) {
      expect([price.model, price.source.length > 10]).toEqual([price.model, true]);
      if (price.model === '*:free') continue;
      for (const { read, input, output, write5m, write1h } of [price, ...price.bands]) {
        expect([price.model, read <= input && input < output && write5m >= input && write1h >= write5m]).toEqual([
          price.model,
          true,
        ]);
      }
    }
  });

  it.each([
    ['claude-opus-5-20260401', 5],
    ['anthropic/claude-opus-4-6', 5],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 3],
    ['claude-opus-4-5@20251101', 5],
    ['claude-haiku-4.5', 1],
    ['openrouter/anthropic/claude-sonnet-4.5:beta', 3],
    ['anthropic/claude-opus-4.5:nitro', 5],
    ['anthropic/claude-opus-4.5-20251101:thinking', 5],
    ['openrouter/meta-llama/llama-3.2-3b-instruct:free', 0],
    ['deepseek/deepseek-chat:free', 0],
    ['grok-4', 3],
    ['x-ai/grok-4-0709', 3],
    ['x-ai/grok-4.1-fast', 0.2],
    ['grok-4.7', 2],
    ['claude-haiku-4-5', 1],
    ['claude-haiku-5-5', 0.1],
    ['claude-opus-4-1-20250805', 15],
    ['gpt-6.1-sol', 2],
    ['gpt-6-astra', 10],
    ['gpt-5-codex', 1.25],
    ['openai/gpt-5.6-sol', 4],
    ['gpt-4.1', 2],
    ['gpt-4o-2024-08-06', 2.5],
    ['o3', 2],
    ['o4-mini', 1.1],
    ['gpt-5-nano', 0.05],
    ['models/gemini-2.5-pro', 1.25],
    ['gemini-3-pro-preview', 2],
    ['gemini-3.8-flash', 0.75],
    ['deepseek/deepseek-chat', 0.15],
    ['qwen3-coder-plus', 1],
    ['moonshotai/kimi-k2.5', 0.6],
    ['GLM-4.6', 0.6],
    ['x-ai/grok-4.5', 2],
    ['mistral-large-latest', 0.5],
    ['MiniMax-M2', 0.3],
  ])('include %s', (model, input) => {
    expect(inputOf(builtIn.of(model, NOW))).toBe(input);
  });

  it.each(['gpt-oss-120b', 'llama-4', '', 'gpt-4o-audio-preview', 'qwen3-coder:30b', 'claude-opus-5-fast', 'my-gpt-5'])(
    'have no price for %j',
    (model) => {
      expect(builtIn.of(model, NOW)).toBeNull();
    },
  );

  it.each([
    ['prod-gpt-5-mini', 'gpt-5-mini'],
    ['gpt_4o_team', 'gpt-4o'],
    ['My-GPT-5', 'gpt-5'],
    ['claude-opus-4-5-eu', 'claude-opus-4-5'],
  ])('find the model in the name of an Azure deployment, and only there: %s', (deployment, model) => {
    expect(builtIn.of(deployment, NOW, 'azure')).toEqual(builtIn.of(model, NOW));
    expect(builtIn.of(deployment, NOW)).toBeNull();
    expect(builtIn.of('assistant', NOW, 'azure')).toBeNull();
  });

  it('follow a price change from its date', () => {
    expect(builtIn.of('claude-sonnet-5-5', Date.parse('2026-10-06T23:59:59Z'))?.read).toBe(0.2);
    expect(builtIn.of('claude-sonnet-5-5', Date.parse('2026-10-07T00:00:00Z'))?.read).toBe(0.1);
    expect(inputOf(builtIn.of('gemini-3.8-flash', Date.parse('2027-01-01')))).toBe(1.5);
  });
});

describe('a custom price file', () => {
  it('takes precedence over the installed rows, which apply to all other models', () => {
    const prices = own(row('claude-opus-5', 'input = 1\noutput = 2'));
    expect(inputOf(prices.of('claude-opus-5', NOW))).toBe(1);
    expect(inputOf(prices.of('claude-opus-5-5', NOW))).toBe(4);
    expect(inputOf(prices.of('gpt-5', NOW))).toBe(1.25);
  });

  it('replaces the installed rows if it sets replace = true', () => {
    const prices = own(`replace = true\n${row('claude-opus-5', 'input = 1\noutput = 2')}`);
    expect([inputOf(prices.of('claude-opus-5', NOW)), prices.of('gpt-5', NOW)]).toEqual([1, null]);
  });

  it.each([
    ['my-model', 'my-model', true],
    ['my-model', 'my-model-2026-01-31', true],
    ['my-model', 'my-model-20260131', true],
    ['my-model', 'my-model-mini', false],
    ['my-model', 'my-model2', false],
    ['my-model*', 'my-model-mini', true],
    ['my.model-1.5', 'my-model-1-5', true],
    ['my-model-1-5', 'route/my-model-1.5', true],
    ['team/my-model', 'team/my-model', true],
    ['my-model', 'eu.vendor.my-model-v1:0', true],
  ])('with the name %j: whether it matches %j is %s', (name, model, fits) => {
    const price = own(row(name, 'input = 7\noutput = 8')).of(model, NOW);
    expect(inputOf(price)).toBe(fits ? 7 : null);
    if (price) expect(fittingName(price, model)).toBe(name);
  });

  it('applies its valid rows, and reports the others', () => {
    const prices = own(
      row('good-1', 'input = 1\noutput = 1') +
        row('bad-1', 'input = -1\noutput = 1') +
        row('good-2', 'input = 2\noutput = 1\ncolour = "blue"') +
        row('bad-2', 'output = 1'),
    );
    expect(['good-1', 'bad-1', 'good-2', 'bad-2', 'gpt-5'].map((model) => inputOf(prices.of(model, NOW)))).toEqual([
      ...[1, null, 2, null, 1.25],
    ]);
    expect(prices.problems).toEqual([
      expect.stringMatching(/^price file broken: \/my\/prices\.toml: price\.1\.input: /),
      expect.stringMatching(/^price file broken: \/my\/prices\.toml: price\.3\.input: /),
    ]);
    expect(prices.warnings).toEqual(['/my/prices.toml: price.2.colour is not a known key and is ignored']);
  });

  it.each([
    ['no TOML', 'price = = 3'],
    ['no rows', 'cost = 3'],
    ['rows that are none', 'price = 3'],
  ])('with %s leaves the installed rows and one line', (_, text) => {
    const prices = own(text);
    expect(inputOf(prices.of('gpt-5', NOW))).toBe(1.25);
    expect(prices.problems).toEqual([expect.stringMatching(/^price file broken: \/my\/prices\.toml: [^\n]+$/)]);
  });

  it('bills the whole of a long prompt at the prices of its band', () => {
    const band = 'input = 1\noutput = 10\n[[price.band]]\nabove = 1_000\ninput = 2\noutput = 15';
    const asRow = row('m', 'input = 1\noutput = 10') + row('m', 'above = 1_000\ninput = 2\noutput = 15');
    for (const prices of [own(row('m', band)), own(asRow)]) {
      const price = prices.of('m', NOW);
      const bill = (fresh: number) =>
        price && dollarsOf({ fresh, write5m: 0, write1h: 0, read: 0, output: 100 }, price);
      expect(bill(1_000)).toBeCloseTo((1_000 + 1_000) / 1e6, 12);
      expect(bill(1_001)).toBeCloseTo((2_002 + 1_500) / 1e6, 12);
    }
  });

  it('uses only the bands of the price in force on the day', () => {
    const before = 'input = 1\noutput = 10\n[[price.band]]\nabove = 1_000\ninput = 2';
    const prices = own(row('m', before) + row('m', 'from = "2026-06-01"\ninput = 3\noutput = 10'));
    expect(prices.of('m', Date.parse('2026-05-31'))?.bands).toMatchObject([{ above: 1_000, input: 2, output: 10 }]);
    expect(prices.of('m', Date.parse('2026-06-01'))).toMatchObject({ input: 3, bands: [] });
  });

  it('bills the counterfactual request without cuts in its own price band', () => {
    const facts = {
      ...{
        requestId: 'r',
        atMs: NOW,
        project: 'p',
        conversationId: 'c',
        wire: 'chat',
        model: 'm',
        arm: 'pruned' as const,
      },
      usage: { input: 900, output: 0, read: null, written: null, written1h: null },
      ...{ tools: '', system: '', bytes: 3_600, cacheUpTo: null, texts: [], regrets: [] },
      messages: [{ prefix: 'a', bytes: 3_600, removed: 200, cuts: 'x' }],
      fresh: { from: 0, tokens: 0 },
    };
    const prices = own(row('m', 'input = 1\noutput = 10\n[[price.band]]\nabove = 1_000\ninput = 2\noutput = 15'));
    const { dollars, dollarsWithout } = billOf(facts, null, { price: prices.of('m', NOW), calibration: 1 });
    expect([dollars, dollarsWithout]).toEqual([expect.closeTo(900 / 1e6, 12), expect.closeTo(2_200 / 1e6, 12)]);
  });

  it('can state that the provider caches automatically', () => {
    const prices = own(row('a', 'input = 1\noutput = 1\ncache = "automatic"') + row('b', 'input = 1\noutput = 1'));
    expect(['a', 'b'].map((model) => prices.of(model, NOW)?.automatic)).toEqual([true, false]);
  });
});
