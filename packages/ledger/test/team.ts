import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import type { StoreHandle } from 'mcp-pruner/store/handle.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { type FakeUpstream, json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import {
  messagesBody,
  oneCall,
  toolResult,
  toolUse,
  type WireMessage,
  wireMessages,
} from '../../../test/helpers/messages.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { readReport } from '../src/ledger.ts';
import { FakeProvider, type Piece } from './fake-provider.ts';

/** A model whose cache is written on demand and lives for an hour. */
export const MODEL = 'a-billed-model';
export const RULES = {
  automatic: false,
  step: 1,
  minPrefix: 512,
  lifetimeMs: 3_600_000,
  input: 5,
  write: 10,
  read: 0.5,
  output: 25,
};
const PRICES = `[[price]]
model = "${MODEL}"
provider = "fake"
input = 5.0
cache_write_5m = 10.0
cache_write_1h = 10.0
cache_read = 0.5
output = 25.0
min_prefix = 512
day = "2026-11-23"
source = "made up"
`;

/** @returns the path of a file with the price of the model */
export function priceFile(): string {
  const path = join(tempFolder(), 'prices.toml');
  writeFileSync(path, PRICES);
  return path;
}

function said(content: WireMessage['content']): string {
  if (typeof content === 'string') return content;
  return content.map(({ text, content: inner, input }) => String(text ?? inner ?? JSON.stringify(input))).join('\n');
}

/** The pieces of a request by the very estimate that the ledger goes by: its figures are then exact. */
export function piecesOf(messages: readonly WireMessage[]): Piece[] {
  const texts = messages.map(({ content }) => said(content));
  return [
    { says: 'head', tokens: 3_000 },
    ...texts.map((text) => ({ says: text, tokens: 4 + Math.round(estimateTokens(text)) })),
  ];
}

/** Messages of a conversation with one long tool result a turn. */
export function conversation(name: string, turns: number): WireMessage[] {
  const [question, ...first] = oneCall(serverLog(200, name.length * 31));
  const messages: WireMessage[] = [{ role: 'user', content: `${name}: ${question?.content}` }, ...first];
  for (let i = 2; i <= turns; i++) {
    messages.push({
      role: 'assistant',
      content: [toolUse(`toolu_${name}_${i}`, 'Bash', { command: `npm test ${i}` })],
    });
    messages.push({ role: 'user', content: [toolResult(`toolu_${name}_${i}`, serverLog(120 + 30 * i, i * 7))] });
  }
  return messages;
}

/** A provider that bills, and its twin that bills the same requests without cuts. */
export class BillingUpstream {
  readonly billed = new FakeProvider(RULES);
  readonly twin = new FakeProvider(RULES);
  #upstream: FakeUpstream | null = null;
  #clockMs = 0;

  async start(): Promise<FakeUpstream> {
    this.#upstream ??= await startUpstream((request, res) => {
      const pieces = piecesOf(wireMessages(request.body));
      if (request.url.includes('count_tokens')) {
        return json(res, 200, { input_tokens: pieces.reduce((sum, { tokens }) => sum + tokens, 0) });
      }
      const { input, output, read, written, written1h } = this.billed.request(MODEL, pieces, 50, this.#clockMs);
      const usage = {
        input_tokens: (input ?? 0) - (read ?? 0) - (written ?? 0),
        cache_creation_input_tokens: written,
        cache_read_input_tokens: read,
        output_tokens: output,
        cache_creation: {
          ephemeral_5m_input_tokens: (written ?? 0) - (written1h ?? 0),
          ephemeral_1h_input_tokens: written1h,
        },
      };
      json(res, 200, { type: 'message', role: 'assistant', model: MODEL, content: [], usage });
    });
    return this.#upstream;
  }

  /** Sends the first messages of a conversation through a proxy. */
  async send(
    url: string,
    messages: readonly WireMessage[],
    headers: Readonly<Record<string, string>> = {},
    path = '/v1/messages',
  ) {
    this.#clockMs += 1_000;
    this.twin.request(MODEL, piecesOf(messages), 50, this.#clockMs);
    const body = messagesBody(messages, { model: MODEL, cache_control: { type: 'ephemeral', ttl: '1h' } });
    const answer = await fetch(`${url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-api-key': 'k1', ...headers },
      body,
    });
    if (answer.status !== 200) throw new Error(`answered ${answer.status}: ${await answer.text()}`);
    await answer.text();
  }

  /** What was saved in truth, in dollars. */
  get saved(): number {
    return this.twin.dollars - this.billed.dollars;
  }
}

/** The figures that must not depend on how many processes billed them. */
export async function figuresOf({ ledger }: Pick<StoreHandle, 'ledger'>) {
  const report = await readReport(ledger, { sinceDay: '2000-01-01' });
  const { requests, dollars, gross, removed, removedNew } = report.totals;
  return {
    requests,
    dollars,
    gross,
    removed,
    removedNew,
    misses: Object.fromEntries(report.misses.map((miss) => [miss.cause, miss.requests])),
    texts: report.tools.map(({ tool, kind, texts, cut }) => [tool, kind, texts, cut]),
  };
}

/** Requests of a store by their conversation. */
export async function turnsOf({ ledger }: Pick<StoreHandle, 'ledger'>): Promise<LedgerTurn[]> {
  const conversations = await ledger.conversations({ sinceMs: 0, limit: 999 });
  const turns = conversations.map(({ conversationId }) => ledger.turns({ conversationId, limit: 999 }));
  return (await Promise.all(turns)).flat();
}
