import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import type { ReportedConversation } from '../src/conversations-report.ts';

const LOG = serverLog(120);
const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-5', usage: { prompt_tokens: 1_000, completion_tokens: 10 } },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
};
const MESSAGE = { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 1_000, output_tokens: 10 } };
const RUN = (digit: string): string => `/run/${digit.repeat(32)}`;

/** Clients that send no session id. Some name themselves only beside the user agent of their SDK. */
const CLIENTS: readonly (readonly [headers: Record<string, string>, prefix: string])[] = [
  [{ 'user-agent': 'Cline/3.50.0' }, ''],
  [{ 'user-agent': 'QwenCode/0.9.1 (linux; x64)' }, ''],
  [{ 'user-agent': 'OpenAI/JS 6.1.0', 'x-title': 'Cline' }, ''],
  [{ 'user-agent': 'OpenAI/JS 6.1.0' }, ''],
  [{ 'user-agent': 'copilot/1.0.4' }, RUN('a')],
  [{ 'user-agent': 'copilot/1.0.5' }, RUN('b')],
];

interface Listed {
  readonly name: string;
  readonly bill: { readonly requests: number } | null;
}

function requestsOf(shown: readonly Listed[]): number {
  return shown.reduce((sum, { bill }) => sum + (bill?.requests ?? 0), 0);
}

async function start() {
  const failing = new Map<string, number>();
  const upstream = await startUpstream((request, res) => {
    const status = failing.get('next') ?? 200;
    if (status === 0) return void res.destroy();
    return json(res, status, status === 200 ? (request.url.includes('messages') ? MESSAGE : ANSWER) : { error: {} });
  });
  const proxy = await startProxy(upstream);
  const ask = async (path: string, body: Buffer | string, headers: Record<string, string> = {}) => {
    const sent = { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body };
    const answer = await fetch(`${proxy.url}${path}`, sent).catch(() => null);
    await answer?.arrayBuffer();
  };
  /** What the page and `report --json` say, once the proxy has written everything. */
  const listed = async (isWhole: (shown: readonly Listed[]) => boolean) => {
    const env = { MCP_PRUNER_DB_PATH: proxy.dbPath };
    const shown = await until(async () => {
      const page = await fetch(`${proxy.url}/page/api/conversations?sort=seen`);
      const { conversations } = (await page.json()) as { conversations: readonly Listed[] };
      return isWhole(conversations) && conversations;
    });
    await proxy.stop();
    const { out } = await run(['report', '--json'], { env, clock: { nowMs: Date.now } });
    const { conversations } = JSON.parse(out) as { conversations: readonly ReportedConversation[] };
    return { conversations, shown };
  };
  return { ask, listed, fail: (status: number) => failing.set('next', status) };
}

describe('the conversations in the report', () => {
  it('are apart if clients or runs differ, though all begin with the same words and name no session', async () => {
    const { ask, listed } = await start();
    for (let turn = 0; turn < 2; turn++) {
      for (const [headers, prefix] of CLIENTS) {
        const more =
          turn === 0
            ? []
            : [
                { role: 'assistant', content: 'ok' },
                { role: 'user', content: 'Go on.' },
              ];
        await ask(`${prefix}/v1/chat/completions`, chatBody([...oneResult(LOG), ...more], { model: 'gpt-5' }), headers);
      }
    }
    const { conversations, shown } = await listed((all) => requestsOf(all) === 2 * CLIENTS.length);
    expect(conversations.map(({ requests, turns }) => [requests, turns])).toEqual(CLIENTS.map(() => [2, 2]));
    expect(new Set(conversations.map(({ id }) => id)).size).toBe(CLIENTS.length);
    expect(conversations.every(({ dollars, first, last }) => dollars > 0 && first <= last)).toBe(true);
    expect(shown.map(({ name }) => name).sort()).toEqual(conversations.map(({ id }) => id).sort());
  });

  it.each([
    ['an error of the provider', 500, '/v1/chat/completions'],
    ['too many requests', 429, '/v1/chat/completions'],
    ['an overloaded provider', 529, '/v1/messages'],
    ['a connection that breaks off', 0, '/v1/chat/completions'],
    ['a refused request', 400, '/v1/messages'],
  ])('have requests without an answer, which are no turns: %s', async (_, status, path) => {
    const { ask, listed, fail } = await start();
    const body = path.endsWith('messages') ? messagesBody(oneCall(LOG)) : chatBody(oneResult(LOG), { model: 'gpt-5' });
    await ask(path, body);
    fail(status);
    await ask(path, body);
    await ask(path, body);
    fail(200);
    await ask(path, body);
    const { conversations } = await listed((all) => requestsOf(all) === 4);
    expect(conversations.map(({ requests, turns }) => requests - turns).reduce((a, b) => a + b)).toBe(2);
    expect(conversations.reduce((sum, { turns }) => sum + turns, 0)).toBe(2);
  });
});
