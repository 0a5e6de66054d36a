import { describe, expect, it } from 'vitest';
import { children, startFleet } from './helpers.ts';

const SPELLINGS = [
  ...['/chat/completions', '/chat/completions/', '//chat//completions', '/CHAT/Completions', '/chat%2Fcompletions'],
  ...['/responses', '/responses/compact', '/messages', '/models/gemini-3:generateContent'],
  ...['/models/gemini-3:streamGenerateContent?alt=sse', '/%E0%A4%A/chat/completions'],
];

describe('a child with no requests left', () => {
  it('cannot reach a model, however it spells the path', async () => {
    const { client, upstream } = await startFleet({ MCP_PRUNER_CHILDREN: children(5000) });
    const orders = SPELLINGS.map((path) => ['ask', 'more', path]);
    await client.agent(orders, { child_id: 'c', limits: { messages: 0 } });
    const ended = await client.call('child_status', { child_id: 'c', wait_ms: 20_000 });
    expect(ended).toMatchObject({ exit_code: 0, usage: { messages: 0, tokens: 0 } });
    const { payload } = await client.call('resources_read', { uri: ended.logs_uri });
    const codes = payload.logs.flatMap(({ parsed }: { parsed: { body?: { error?: { code: string } } } | null }) =>
      parsed === null ? [] : [parsed.body?.error?.code],
    );
    expect(codes).toEqual(SPELLINGS.map(() => 'messages'));
    expect(upstream.requests).toEqual([]);
  });
});
