import { expect, it, vi } from 'vitest';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, type WireMessage } from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { LimitBooks } from './provider.ts';

it('returns a conversation’s limits for the page: its share, and the size and cost of its context', async () => {
  const books = new LimitBooks(Date.now());
  const usage = { input_tokens: 100, cache_read_input_tokens: 83_900, output_tokens: 20 };
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'claude-opus-4-5', content: [], usage };
  const upstream = await startUpstream((_request, res) => json(res, 200, message, books.anthropic()));
  const proxy = await startProxy(upstream);
  const begin: WireMessage[] = [{ role: 'user', content: 'Begin.' }];
  const goOn: WireMessage[] = [
    { role: 'assistant', content: 'Done.' },
    { role: 'user', content: 'Go on.' },
  ];
  for (const messages of [begin, [...begin, ...goOn]]) {
    books.use(42);
    const body = new Uint8Array(messagesBody(messages, { model: 'claude-opus-4-5' }));
    const headers = { 'x-claude-code-session-id': 'of-a-plan', 'x-mcp-pruner-project': 'plan' };
    await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body })).text();
  }
  const read = async (path: string) => (await (await fetch(`${proxy.url}/page/api/${path}`)).json()) as unknown;
  const name = await until(async () => {
    const { requests } = (await read('requests?project=plan')) as { requests: readonly { conversation: string }[] };
    return requests.length === 2 && requests[0]?.conversation;
  });
  await vi.waitFor(
    async () =>
      expect(await read(`limits?conversation=${encodeURIComponent(name)}`)).toMatchObject({
        shares: [
          { provider: 'anthropic', window: '5h', used: 0.42, shared: 0 },
          { window: '7d', used: 0.21 },
        ],
        context: {
          model: 'claude-opus-4-5',
          tokens: 84_000,
          next: { warm: 0.042 },
          compactPaysAfter: expect.any(Number),
        },
      }),
    { timeout: 30_000 },
  );
  expect(await read('limits?conversation=unknown')).toEqual({ shares: [], context: null, finished: null });
});
