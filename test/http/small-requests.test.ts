import { describe, expect, it } from 'vitest';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';

const small = (extra: object = {}): string =>
  JSON.stringify({
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'You help.' },
      { role: 'user', content: 'What is a monad? <system-reminder>be brief</system-reminder>' },
    ],
    ...extra,
  });

describe('a small request that begins a conversation', () => {
  it('is forwarded unchanged and reported like any other', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const large = JSON.parse(small()) as { messages: object[] };
    large.messages.push({ role: 'assistant', content: 'A monoid.' }, { role: 'user', content: 'x'.repeat(9_000) });
    for (const body of [small(), small({ stream: false }), JSON.stringify(large)])
      await (await proxy.chat(body)).text();
    expect(String(upstream.requests[0]?.body)).toBe(small());
    const [first, second, third] = await proxy.requestLines(3);
    expect(first).toMatchObject({ model: 'gpt-4o', messages: 2, candidates: 0, status: 200, bytesIn: small().length });
    const [, client, words] = /^([a-z]{12})-([0-9a-f]{32})$/.exec(String(first?.conversationId)) ?? [];
    // the same first words after an answer begin a conversation, which the third request continues
    expect(second?.conversationId).toMatch(new RegExp(`^${client}-[0-9a-f]{8}-${words}$`));
    expect(third?.conversationId).toBe(second?.conversationId);
  });

  it('is forwarded unchanged if it is not JSON, with a line in the log', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    await (await proxy.chat('{"messages": [')).text();
    await (await proxy.chat('{"messages": [')).text(); // the first one still had the directives to read
    expect(upstream.requests.map(({ body }) => String(body))).toEqual(['{"messages": [', '{"messages": [']);
    for (const line of await proxy.requestLines(2)) expect(line.fallbacks).toEqual(['body_not_understood']);
  });
});
