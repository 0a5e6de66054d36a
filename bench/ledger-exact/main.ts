// How far the saving that the ledger tells is from the true one, by wire and by the provider's way of counting, where cuts
// are estimated. node bench/run.mjs ledger-exact [conversations] [turns]. MCP_PRUNER_TOKENIZERS may name a module that
// exports functions from a text to a number of tokens.
import { decideOnceOf } from '../../src/app/decide-once.ts';
import { rewriterOf } from '../../src/app/rewriter.ts';
import { openStore } from '../../src/app/store.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { LedgerTurn } from '../../src/core/ports/ledger.ts';
import { RefusedConversations } from '../../src/core/request/refused-conversations.ts';
import type { Dialect } from '../../src/dialects/dialect.ts';
import { Ledger } from '../../src/ledger/ledger.ts';
import { Prices } from '../../src/ledger/prices.ts';
import { providers } from '../../src/providers/all.ts';
import { factsOf } from '../../src/proxy/report/ledger-facts.ts';
import { conversation } from '../speed/payloads.ts';

type Count = (text: string) => number;

interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

const CONVERSATIONS = Number(process.argv[2] ?? 50);
const TURNS = Number(process.argv[3] ?? 8);
const ANSWER_TOKENS = 40;
const PRICE = { input: 5, read: 0.5, output: 25 };
const prices = new Prices([
  {
    path: 'prices.toml',
    text: `[[price]]\nmodel = "*"\nprovider = "p"\ninput = 5\ncache_read = 0.5\noutput = 25\nmin_prefix = 0\ncache_step = 1\nday = "2026-11-23"\nsource = "s"\n`,
  },
]);

/** Made-up ways of counting beside real ones: by letters, with digits and signs dear, and with words dear. */
const MADE_UP: Readonly<Record<string, Count>> = {
  'digits and signs dear': (text) => Math.ceil(text.length / 5 + (text.match(/[^a-zA-Z\s]/g) ?? []).length / 3),
  'words dear': (text) =>
    Math.ceil((text.match(/[a-zA-Z]+/g) ?? []).length * 1.2 + (text.match(/[^a-zA-Z\s]/g) ?? []).length * 0.6),
};

const WIRES: Readonly<Record<string, (messages: readonly Message[]) => object>> = {
  chat: (messages) => ({ messages }),
  messages: (messages) => ({
    system: messages[0]?.content,
    messages: messages.slice(1).map(({ role, content, tool_calls, tool_call_id }) =>
      role === 'tool'
        ? { role: 'user', content: [{ type: 'tool_result', tool_use_id: tool_call_id, content }] }
        : tool_calls
          ? {
              role,
              content: tool_calls.map((call) => ({
                type: 'tool_use',
                id: call.id,
                name: call.function.name,
                input: JSON.parse(call.function.arguments) as unknown,
              })),
            }
          : { role, content },
    ),
  }),
  responses: (messages) => ({
    store: false,
    input: messages.flatMap(({ role, content, tool_calls, tool_call_id }): object[] =>
      role === 'tool'
        ? [{ type: 'function_call_output', call_id: tool_call_id, output: content }]
        : tool_calls
          ? tool_calls.map((call) => ({
              type: 'function_call',
              call_id: call.id,
              name: call.function.name,
              arguments: call.function.arguments,
            }))
          : [{ type: 'message', role, content }],
    ),
  }),
  gemini: (messages) => ({
    systemInstruction: { parts: [{ text: messages[0]?.content }] },
    contents: messages.slice(1).map(({ role, content, tool_calls, tool_call_id }) =>
      role === 'tool'
        ? {
            role: 'user',
            parts: [{ functionResponse: { id: tool_call_id, name: 'bash', response: { output: content } } }],
          }
        : tool_calls
          ? {
              role: 'model',
              parts: tool_calls.map((call) => ({
                functionCall: {
                  id: call.id,
                  name: call.function.name,
                  args: JSON.parse(call.function.arguments) as unknown,
                },
              })),
            }
          : { role: role === 'assistant' ? 'model' : 'user', parts: [{ text: content }] },
    ),
  }),
};

/** Strings of a body, but for what frames them: that is what a provider counts, about. */
function textsOf(value: unknown): string {
  const out: string[] = [];
  const walk = (one: unknown): void => {
    if (typeof one === 'string') out.push(one);
    else if (one !== null && typeof one === 'object') for (const inner of Object.values(one)) walk(inner);
  };
  walk(value);
  return out.join('\n');
}

async function play(wire: string, bodyOf: (messages: readonly Message[]) => object, count: Count) {
  const dialects = providers.flatMap((provider) => provider.dialects);
  const dialect = dialects.find(({ name }) => name === wire) as Dialect;
  const env = { MCP_PRUNER_DB_PATH: ':memory:', MCP_PRUNER_TIMEOUT_MS: '600000' };
  const readFile = (): string => {
    throw Object.assign(new Error('no file'), { code: 'ENOENT' });
  };
  const { settings } = loadSettings({ env, platform: 'linux', homeDir: '/nowhere', cwd: '/nowhere', readFile });
  const clock = { nowMs: () => Date.now() };
  const fail = (_: string, cause: unknown): never => {
    throw cause;
  };
  const store = await openStore(settings, { clock });
  const rewriter = rewriterOf(settings, {
    store,
    clock,
    once: decideOnceOf(settings, store, clock),
    refused: new RefusedConversations(store),
    onFailure: fail,
  });
  let turn: LedgerTurn | undefined;
  const ledger = new Ledger({
    store: store.ledger,
    prices,
    clock,
    onFailure: fail,
    onBilled: (billed) => {
      turn = billed;
    },
  });
  const told: number[] = [];
  const really: number[] = [];
  const memo = new Map<string, number>();
  const tokens = (value: object): number => {
    const list = Object.values(value).flatMap((one: unknown) => (Array.isArray(one) ? (one as unknown[]) : [one]));
    return list.reduce((sum: number, one) => {
      const text = textsOf(one);
      const known = memo.get(text) ?? count(text) + 4;
      memo.set(text, known);
      return sum + known;
    }, 0);
  };
  for (let seed = 0; seed < CONVERSATIONS; seed++) {
    let [own, twin, read, readWhole] = [0, 0, 0, 0];
    for (const raw of conversation(TURNS, 7_000 + seed)) {
      const { messages } = JSON.parse(raw.toString()) as { messages: Message[] };
      const body = Buffer.from(JSON.stringify({ model: 'm', ...bodyOf(messages) }));
      const rewritten = await rewriter.rewrite({ body, dialect });
      await rewriter.accepted(rewritten);
      const [sent, whole] = [
        tokens(JSON.parse(rewritten.body.toString()) as object),
        tokens(JSON.parse(body.toString()) as object),
      ];
      const usage = { input: sent, output: ANSWER_TOKENS, read, written: null, written1h: null };
      const about = { requestId: `${seed}/${messages.length}`, project: 'p', wire, forwardedOriginal: false };
      ledger.request({ ...factsOf(rewritten, about), conversationId: `${wire} ${seed}`, atMs: Date.now(), usage });
      await ledger.flush();
      own += (turn?.dollarsWithout ?? 0) - (turn?.dollars ?? 0);
      twin += ((whole - readWhole - (sent - read)) * PRICE.input + (readWhole - read) * PRICE.read) / 1e6;
      [read, readWhole] = [sent, whole];
    }
    told.push(own);
    really.push(twin);
  }
  await ledger.flush();
  await store.close();
  const sum = (list: readonly number[]): number => list.reduce((all, one) => all + one, 0);
  const off = told.map((one, i) => Math.abs(one - (really[i] ?? 0))).sort((a, b) => a - b);
  const within = off.filter((one) => one < 0.01).length;
  return {
    error: sum(told) / sum(really) - 1,
    saved: sum(really),
    median: off[Math.floor(off.length / 2)] ?? 0,
    worst: off.at(-1) ?? 0,
    within,
  };
}

const named = process.env.MCP_PRUNER_TOKENIZERS;
const real = named === undefined ? {} : ((await import(named)) as Record<string, Count>);
for (const [how, count] of Object.entries({ ...MADE_UP, ...real })) {
  for (const [wire, bodyOf] of Object.entries(WIRES)) {
    const { error, saved, median, worst, within } = await play(wire, bodyOf, count);
    process.stdout.write(
      `${how.padEnd(22)} ${wire.padEnd(10)} saved $${saved.toFixed(2)}, told ${(100 * error).toFixed(2)} % more; a conversation off by $${median.toFixed(4)} (worst ${worst.toFixed(4)}), ${within} of ${CONVERSATIONS} to the cent\n`,
    );
  }
}
