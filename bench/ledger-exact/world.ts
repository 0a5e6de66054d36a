import { Ledger, readReport } from '@mcp-pruner/ledger/ledger.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import { FakeProvider, type Piece } from '../../packages/ledger/test/fake-provider.ts';
import { decisionCacheOf, rewriterOf } from '../../src/app/pipeline.ts';
import { openStore } from '../../src/app/store.ts';
import { loadSettings } from '../../src/config/load.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { edition } from '../../src/edition.ts';
import { endedFacts, factsOf } from '../../src/proxy/report/ledger-facts.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect, ProviderUsage } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import type { AgentTurn } from './conversation.ts';
import type { Count } from './tokenisers.ts';
import { WIRES } from './wires.ts';

const MODEL = 'a-model';
const PRICES = `[[price]]
model = "${MODEL}"
provider = "p"
input = 5
cache_write_5m = 6.25
cache_read = 0.5
output = 25
min_prefix = 1_024
day = "2026-11-23"
source = "s"
`;
const RULES = { minPrefix: 1_024, step: 1, lifetimeMs: 300_000, input: 5, read: 0.5, output: 25 };
const DIALECTS: Readonly<Record<World['wire'], Dialect>> = {
  chat: openaiChat,
  messages: anthropicMessages,
  responses: openaiResponses,
  gemini: googleGemini,
};
const TURN_MS = 60_000;
/** Tokens that frame a message at the provider. */
const FRAME = 4;

/** What a provider does: its wire, how it counts, and whether its model thinks what it does not show. */
export interface World {
  readonly wire: keyof typeof WIRES;
  readonly count: Count;
  readonly thinks: boolean;
  /** Hidden reasoning is sent back, and the provider reads it or leaves it out. Default: it is not. */
  readonly carried?: 'read' | 'left out';
}

/** What was saved over some conversations, in dollars: by the ledger and by two bills of the provider. */
export interface Outcome {
  readonly reported: number;
  readonly really: number;
  readonly range: readonly [number, number];
  /** What was spent: by the ledger, and billed. */
  readonly spent: number;
  readonly billed: number;
}

/** Plays conversations with a provider that bills them, pruned and whole, and a ledger that never saw its model. */
export async function play(
  { wire, count, thinks, carried }: World,
  conversations: readonly (readonly AgentTurn[])[],
): Promise<Outcome> {
  const dialect = DIALECTS[wire];
  const { rewriter, ledger, store, close, clock } = await openProxy();
  const { bodyOf, cacheControl } = WIRES[wire];
  const rules = { ...RULES, automatic: cacheControl === undefined, write: cacheControl ? 6.25 : 5 };
  let [billed, twinBilled] = [0, 0];
  for (const [number, turns] of conversations.entries()) {
    const [provider, twin] = [new FakeProvider(rules), new FakeProvider(rules)];
    for (let at = 0; at < turns.length; at++) {
      clock.now += TURN_MS;
      const body = Buffer.from(
        JSON.stringify({ model: MODEL, ...bodyOf(turns.slice(0, at + 1), carried !== undefined), ...cacheControl }),
      );
      const rewritten = await rewriter.rewrite({ body, dialect });
      await rewriter.accepted(rewritten);
      // what the model answers now is what the next request repeats
      const next = turns[at + 1];
      const said = next ? count(JSON.stringify(next.said)) : 40;
      const thought = thinks ? (next?.thinks ?? 0) : 0;
      const usage = provider.request(
        MODEL,
        piecesOf(rewritten.body, count, carried === 'read'),
        said + thought,
        clock.now,
      );
      twin.request(MODEL, piecesOf(body, count, carried === 'read'), said + thought, clock.now);
      const reported: ProviderUsage = {
        promptTokens: usage.input,
        completionTokens: usage.output,
        cachedTokens: usage.read,
        ...(cacheControl && { cacheWriteTokens: usage.written }),
        ...(wire !== 'messages' && { reasoningTokens: thought }),
      };
      const about = { requestId: `${number}/${at}`, project: 'p', wire, forwardedOriginal: false };
      ledger.request(endedFacts(factsOf(rewritten, about), clock.now, reported));
      await ledger.flush();
    }
    billed += provider.dollars;
    twinBilled += twin.dollars;
  }
  const { totals } = await readReport(store.ledger, { sinceDay: '2000-01-01' });
  await close();
  return {
    reported: totals.gross,
    really: twinBilled - billed,
    range: totals.savedRange,
    spent: totals.dollars,
    billed,
  };
}

async function openProxy() {
  const env = { MCP_PRUNER_DB_PATH: ':memory:', MCP_PRUNER_TIMEOUT_MS: '600000' };
  const readFile = (): string => {
    throw Object.assign(new Error('no file'), { code: 'ENOENT' });
  };
  const { settings } = loadSettings({
    table: edition.settings,
    env,
    platform: 'linux',
    homeDir: '/nowhere',
    cwd: '/nowhere',
    readFile,
  });
  const clock = { now: Date.UTC(2026, 10, 23), nowMs: (): number => clock.now };
  const fail = (_: string, cause: unknown): never => {
    throw cause;
  };
  const store = await openStore(settings, { edition, clock });
  const decisionCache = decisionCacheOf(settings, store, clock);
  const rewriter = rewriterOf(settings, {
    store,
    clock,
    decisionCache,
    refused: new RefusedConversations(store),
    onFailure: fail,
  });
  const prices = new Prices([{ path: 'prices.toml', text: PRICES }]);
  const ledger = new Ledger({ store: store.ledger, prices, clock, onFailure: fail });
  await ledger.start();
  const close = async (): Promise<void> => {
    await rewriter.flush();
    await ledger.close();
    await store.close();
  };
  return { rewriter, ledger, store, clock, close };
}

/** Fields of a body that a model reads. */
const READ = new Set(['system', 'systemInstruction', 'instructions', 'messages', 'input', 'contents']);

/** The pieces of a body as the provider counts them: what stands beside the messages, and each message. */
function piecesOf(body: Buffer, count: Count, readsThoughts: boolean): Piece[] {
  const fields = Object.entries(JSON.parse(body.toString()) as Readonly<Record<string, unknown>>);
  const read = fields.flatMap(([name, value]) => (READ.has(name) ? value : []));
  return read.map((one) => {
    const { says, thoughts } = textsOf(one);
    const thought = readsThoughts ? thoughts.length / 4 : 0;
    return { says: says + thoughts, tokens: says === '' ? thought : FRAME + count(says) + thought };
  });
}

/** All strings in a value, but for what frames them; hidden reasoning apart. */
function textsOf(value: unknown): { readonly says: string; readonly thoughts: string } {
  const [says, thoughts]: [string[], string[]] = [[], []];
  const walk = (one: unknown, hidden: boolean): void => {
    if (typeof one === 'string') (hidden ? thoughts : says).push(one);
    else if (one !== null && typeof one === 'object')
      for (const inner of Object.values(one)) walk(inner, hidden || 'encrypted_content' in one || 'thought' in one);
  };
  walk(value, false);
  return { says: says.join('\n'), thoughts: thoughts.join('') };
}
