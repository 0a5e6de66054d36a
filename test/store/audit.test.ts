import { ContextGc } from '@mcp-pruner/context/context-gc.ts';
import { describe, expect, it } from 'vitest';
import { Agent } from '../../packages/context/test/agent.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const TOKEN = 'a-token-of-at-least-16-characters';

describe('the audit trail', () => {
  it('contains changed settings, sign-ins and erasures, even if no other events are kept', async () => {
    const upstream = await startUpstream((_, res) => json(res, 200, { choices: [{ message: { content: 'ok' } }] }));
    const env = { MCP_PRUNER_MAX_EVENTS: '0', MCP_PRUNER_MIN_PRUNE_CHARS: '4000' };
    const first = await startProxy(upstream, { env });
    await first.restart();
    await first.stop();
    const { dbPath } = first;
    const proxy = await startProxy(upstream, {
      dbPath,
      env: { ...env, MCP_PRUNER_MIN_PRUNE_CHARS: '3000', MCP_PRUNER_AUTH_TOKEN: TOKEN },
    });
    const agent = new Agent(proxy, upstream, { authorization: `Bearer ${TOKEN}` });
    agent.tool('bash', { command: 'npm start' }, serverLog(200));
    await agent.send();
    const signIn = (token: string) =>
      fetch(`${proxy.url}/page/api/session`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: proxy.url },
        body: JSON.stringify({ token }),
      });
    expect((await signIn('wrong')).status).toBe(401);
    expect((await signIn(TOKEN)).status).toBeLessThan(300);
    await proxy.stop();
    const store = openStore(dbPath);
    const [conversation] = await store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    const [segment] = await store.segments.segments(conversation, { limit: 1 });
    const gc = new ContextGc({
      ...{ store: store.segments, events: store, clock: { nowMs: () => Date.now() } },
      flush: () => Promise.resolve(),
      onFailure: (_, cause) => {
        throw cause;
      },
    });
    await gc.prune('default', [segment?.id ?? ''], 'delete', 'user');
    const events = await store.events({ fromSeq: 0, limit: 99 });
    expect(events.map(({ kind }) => kind)).toEqual(['settings_changed', 'signed_in', 'deleted', 'erased']);
    expect(events[3]?.payload).toMatchObject({ project: 'default', by: 'user' });
    const changed = String(events[0]?.payload.settings).split(', ');
    expect(changed).toEqual(expect.arrayContaining(['MCP_PRUNER_MIN_PRUNE_CHARS', 'MCP_PRUNER_AUTH_TOKEN']));
    expect(changed).not.toContain('MCP_PRUNER_MAX_EVENTS');
    expect(JSON.stringify(events)).not.toContain(TOKEN);
  });
});
