import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerConversation } from 'mcp-pruner/core/ports/ledger-store.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall, toolResult, toolUse, type WireMessage } from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { randomFrom } from '../../../test/helpers/random.ts';
import { manualClock, openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { FakeProvider, type Piece, type ProviderRules } from './fake-provider.ts';

const MINUTE = 60_000;
const EXPLICIT = { automatic: false, step: 1, minPrefix: 1_024, input: 5, read: 0.5, output: 25 };
const PROVIDERS: Readonly<Record<string, ProviderRules & { readonly ttl: string }>> = {
  'fake-short': { ...EXPLICIT, lifetimeMs: 5 * MINUTE, write: 6.25, ttl: '5m' },
  'fake-long': { ...EXPLICIT, lifetimeMs: 60 * MINUTE, write: 10, ttl: '1h' },
};
const PRICES = Object.entries(PROVIDERS)
  .map(
    ([model, { input, write, read, output, minPrefix }]) =>
      `[[price]]\nmodel = "${model}*"\nprovider = "fake"\ninput = ${input}\ncache_write_5m = ${write}\ncache_write_1h = ${write}\ncache_read = ${read}\noutput = ${output}\nmin_prefix = ${minPrefix}\nday = 2026-11-23\nsource = "made up"\n`,
  )
  .join('\n')
  .replaceAll(/day = (\S+)/g, 'day = "$1"');

interface Body {
  readonly model: string;
  readonly tools?: unknown;
  readonly system: unknown;
  readonly messages: readonly WireMessage[];
}

/** The pieces of a body by a way of counting that is not the proxy's: digits and signs count more than words. */
function piecesOf({ tools, system, messages }: Body): Piece[] {
  const tokens = (text: string): number =>
    3 + Math.ceil(text.length / 5 + (text.match(/[^a-zA-Z\s]/g) ?? []).length / 3);
  const texts = messages.map(({ role, content }) => `${role} ${typeof content === 'string' ? content : said(content)}`);
  const before = tools === undefined ? [] : [JSON.stringify(tools)];
  return [...before, JSON.stringify(system), ...texts].map((says) => ({ says, tokens: tokens(says) }));
}

function said(content: readonly { readonly [field: string]: unknown }[]): string {
  return content.map(({ text, content: inner, input }) => String(text ?? inner ?? JSON.stringify(input))).join('\n');
}

/** A request of a conversation: the pause before it, and its body. */
interface Turn {
  readonly gapMs: number;
  readonly body: Buffer;
}

function conversation(seed: number): { readonly model: string; readonly turns: readonly Turn[] } {
  const next = randomFrom(seed);
  const upTo = (limit: number): number => Math.floor(next() * limit);
  const model = Object.keys(PROVIDERS)[upTo(2)] ?? '';
  const cache = { cache_control: { type: 'ephemeral', ttl: PROVIDERS[model]?.ttl } };
  const text = (): string =>
    upTo(4) === 0
      ? 'Nothing was found.'
      : upTo(3) === 0
        ? sourceFile(15 + upTo(20), seed)
        : serverLog(60 + upTo(120), upTo(900));
  const [question, ...first] = oneCall(text());
  const messages: WireMessage[] = [{ role: 'user', content: `Case ${seed}. ${question?.content}` }, ...first];
  let system = `You are a careful engineer. ${'Mind the rules of the house. '.repeat(upTo(400))}`;
  const turns: Turn[] = [];
  for (let i = 0; i < 2 + upTo(3); i++) {
    if (i > 0) {
      messages.push({ role: 'assistant', content: [toolUse(`toolu_${i}`, 'Bash', { command: `npm run step-${i}` })] });
      messages.push({ role: 'user', content: [toolResult(`toolu_${i}`, text())] });
    }
    if (upTo(12) === 0) system += ' Another day.';
    const gapMs = [1, 1, 1, 2, 3, 20, 200][upTo(7)] ?? 1;
    const more = { model, system: [{ type: 'text', text: system }], ...cache };
    turns.push({ gapMs: gapMs * MINUTE, body: messagesBody(messages, more) });
  }
  return { model, turns };
}

interface Played {
  readonly recorded: LedgerConversation | undefined;
  readonly billed: number;
  readonly twin: number;
}

async function play(seeds: readonly number[]): Promise<Played[]> {
  const prices = join(tempFolder(), 'prices.toml');
  writeFileSync(prices, PRICES);
  const clock = manualClock(Date.now());
  let provider: FakeProvider | undefined;
  const upstream = await startUpstream((request, res) => {
    const body = JSON.parse(request.body.toString()) as Body;
    const recorded = provider?.request(body.model, piecesOf(body), 50, clock.now);
    const { input = 0, output, read = 0, written = 0, written1h = 0 } = recorded ?? {};
    const long = written1h ?? 0;
    const usage = {
      input_tokens: (input ?? 0) - (read ?? 0) - (written ?? 0),
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      output_tokens: output,
      cache_creation: { ephemeral_5m_input_tokens: (written ?? 0) - long, ephemeral_1h_input_tokens: long },
    };
    return json(res, 200, { type: 'message', role: 'assistant', model: body.model, content: [], usage });
  });
  const dbPath = join(tempFolder(), 'store.db');
  const proxy = await startProxy(upstream, { clock, dbPath, env: { MCP_PRUNER_PRICES: prices } });
  const played: Omit<Played, 'recorded'>[] = [];
  for (const seed of seeds) {
    const { model, turns } = conversation(seed);
    const rules = PROVIDERS[model];
    if (!rules) continue;
    provider = new FakeProvider(rules);
    const twin = new FakeProvider(rules);
    for (const { gapMs, body } of turns) {
      clock.now += gapMs;
      twin.request(model, piecesOf(JSON.parse(body.toString()) as Body), 50, clock.now);
      const headers = { 'content-type': 'application/json', 'x-mcp-pruner-project': `p${seed}`, 'x-api-key': 'k1' };
      await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body })).text();
    }
    played.push({ billed: provider.dollars, twin: twin.dollars });
  }
  await proxy.stop();
  const { ledger } = openStore(proxy.dbPath);
  const recorded = new Map((await ledger.conversations({ sinceMs: 0, limit: 999 })).map((one) => [one.project, one]));
  return played.map((one, i): Played => ({ ...one, recorded: recorded.get(`p${seeds[i]}`) }));
}

const saved = ({ recorded, billed, twin }: Played) => ({
  recorded: (recorded?.dollarsWithout ?? 0) - (recorded?.dollars ?? 0),
  true: twin - billed,
});

/** How far the saving of all is from the true one, as a share of it. */
function offBy(all: readonly Played[]): number {
  const recorded = all.reduce((total, one) => total + saved(one).recorded, 0);
  const really = all.reduce((total, one) => total + saved(one).true, 0);
  return Math.abs(recorded / really - 1);
}

const SEEDS = Array.from({ length: 30 }, (_, i) => 1_000 + i);

describe('the ledger of thirty random conversations through the proxy', () => {
  it('matches the bill of the provider to the cent, and the saving nearly, whatever the tokeniser', async () => {
    const all = await play(SEEDS);
    for (const one of all) expect(Math.abs((one.recorded?.dollars ?? 0) - one.billed)).toBeLessThan(0.000_01);
    expect(offBy(all)).toBeLessThan(0.12);
  });
});
