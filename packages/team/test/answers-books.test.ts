import { AnswerReader } from 'mcp-pruner/wires/dialects/answers/reader.ts';
import { describe, expect, it, vi } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { keys, onFile, type Place, startTeam } from './team.ts';

/** Dollars of gpt-5 for an answer of 100,000 input tokens, 40,000 of them cached, and 1,000 output tokens. */
const USAGE = { prompt_tokens: 100_000, completion_tokens: 1_000, prompt_tokens_details: { cached_tokens: 40_000 } };
const DOLLARS = (60_000 * 1.25 + 40_000 * 0.125 + 1_000 * 10) / 1e6;
/** The answers that the smallest key can pay for. */
const SMALL = 4;
/** Of 30 requests, those that are not to be pruned. */
const OFF = 3;
const stream = (event: object): string => `data: ${JSON.stringify(event)}\n\n`;
const FAULTS: readonly (readonly [status: number, body: string])[] = [
  [200, stream({ error: { type: 'overloaded_error', message: 'x' } })],
  [429, '{"error":{"type":"rate_limit"}}'],
  [200, '{"error":{"type":"server_error","code":500}}'],
  [529, '{"error":{}}'],
];

interface Report {
  readonly totals: { readonly requests: number; readonly dollars: number };
  readonly holdout: {
    readonly conversations: Arms;
    readonly dollarsPerConversation: Arms & { readonly difference: number };
  };
}
type Arms = Readonly<Record<'pruned' | 'control', number>>;
interface KeyRow {
  readonly requests: number;
  readonly dollars: number;
  readonly key: { readonly name: string; readonly dollarsThisMonth: number };
}

describe('the usage records of keys', () => {
  it('match the figures of the provider if errors, retries and refusals are a tenth of the answers each', async () => {
    const place = await onFile();
    const stage = await startTeam(place, { MCP_PRUNER_HOLDOUT: '0.5' });
    const books = { a: 0, b: 0, small: 0 };
    let asking: keyof typeof books = 'a';
    stage.upstream.answer = (request, res, index) => {
      const isPruned = request.body.includes('prune_id=');
      const [status, body] = FAULTS[Math.floor(index / 10) % FAULTS.length] ?? [500, ''];
      if (index % 10 === 3) return void res.writeHead(status, { 'content-type': 'text/event-stream' }).end(body);
      if (index % 10 === 7 && isPruned) {
        return void res.writeHead(200).end(stream({ error: { type: 'invalid_request_error', message: 'x' } }));
      }
      books[asking]++;
      if (index % 2 === 0) return json(res, 200, { model: 'gpt-5', choices: [], usage: USAGE });
      return void res
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .end(stream({ choices: [], usage: USAGE }));
    };
    const issued = new Map<string, string>();
    for (const name of Object.keys(books)) {
      const dollars = name === 'small' ? (SMALL + 0.5) * DOLLARS : 50;
      const limit = ['--dollars-per-month', dollars.toFixed(2)];
      issued.set(name, await keys(place, 'create', '--name', name, '--project', 'web', ...limit));
    }
    let conversation = 0;
    const ask = async (name: keyof typeof books, headers: Record<string, string> = {}): Promise<number> => {
      asking = name;
      const messages = oneResult(serverLog(200, conversation)).map((message, at) =>
        at === 1 ? { ...message, content: `Question ${conversation}: why?` } : message,
      );
      conversation++;
      let status = 0;
      for (let attempt = 0; attempt < 2; attempt++) {
        const sent = { 'content-type': 'application/json', 'x-mcp-pruner-key': issued.get(name) ?? '', ...headers };
        const url = `${stage.url}/v1/chat/completions`;
        const answer = await send(url, { method: 'POST', headers: sent, body: chatBody(messages, { model: 'gpt-5' }) });
        status = answer.status;
        if (answer.body.includes('usage') || answer.body.includes('dollars_used_up')) break;
      }
      return status;
    };
    for (let i = 0; i < 30; i++) await ask(i % 3 === 0 ? 'b' : 'a', i % 10 === 9 ? { 'x-mcp-pruner': 'off' } : {});
    while ((await ask('small')) === 200 && books.small <= SMALL);
    expect(books.small).toBe(SMALL);

    const total = books.a + books.b + books.small;
    const headers = { 'x-mcp-pruner-key': issued.get('a') ?? '' };
    await until(async () => (await reported(place, [])).totals.requests === total);
    const report = await reported(place, []);
    expect(report.totals.dollars).toBeCloseTo(total * DOLLARS, 6);
    const page = (await (await fetch(`${stage.url}/page/api/ledger?days=7`, { headers })).json()) as Report;
    expect(page.totals).toMatchObject({ requests: total, dollars: report.totals.dollars });
    const { rows } = (await reported(place, ['--by', 'key'])) as unknown as { rows: readonly KeyRow[] };
    const counted = rows.map(({ key, requests, dollars }) => [key.name, requests, dollars.toFixed(6)]);
    expect(counted.sort()).toEqual(Object.entries(books).map(([name, n]) => [name, n, (n * DOLLARS).toFixed(6)]));
    for (const { key, dollars } of rows) expect(key.dollarsThisMonth).toBeCloseTo(dollars, 6);
    const { conversations, dollarsPerConversation } = report.holdout;
    expect(conversations.pruned + conversations.control).toBe(total - OFF); // these belong to no conversation
    expect(dollarsPerConversation.pruned).toBeCloseTo(DOLLARS, 6);
    expect(dollarsPerConversation.pruned - dollarsPerConversation.control).toBeCloseTo(
      dollarsPerConversation.difference,
      6,
    );
  });

  it('are updated by reading each answer only once', async () => {
    const place = await onFile();
    const stage = await startTeam(place);
    stage.upstream.answer = (_request, res) => json(res, 200, { model: 'gpt-5', choices: [], usage: USAGE });
    const key = await keys(place, 'create', '--name', 'a', '--project', 'web', '--dollars-per-month', '50');
    const read = vi.spyOn(AnswerReader.prototype, 'data');
    const headers = { 'content-type': 'application/json', 'x-mcp-pruner-key': key };
    const body = chatBody([{ role: 'user', content: 'Why?' }], { model: 'gpt-5' });
    const answer = await send(`${stage.url}/v1/chat/completions`, { method: 'POST', headers, body });
    await until(async () => (await reported(place, [])).totals.requests === 1);
    expect(read.mock.calls.reduce((bytes, [piece]) => bytes + piece.length, 0)).toBe(answer.body.length);
    read.mockRestore();
  });
});

async function reported(place: Place, args: readonly string[]): Promise<Report> {
  const { out } = await run(['report', '--json', ...args], { env: place, clock: { nowMs: Date.now } });
  return JSON.parse(out) as Report;
}
