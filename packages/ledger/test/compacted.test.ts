import { readContexts } from '@mcp-pruner/money/compactions.ts';
import { describe, expect, it } from 'vitest';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { readReport } from '../src/ledger.ts';
import { BillingUpstream, conversation, priceFile, turnsOf } from './team.ts';

const TURNS = 3;
/** First messages of a conversation, and the cause that its first request has. */
const FIRST: Readonly<Record<string, readonly [text: string, cause: string]>> = {
  'Claude Code': ['This session is being continued from a previous conversation that ran out of context.', 'compacted'],
  Codex: [
    'Another language model started to solve this problem and produced a summary of its thinking process.',
    'compacted',
  ],
  'Gemini CLI': ['<state_snapshot><goal>Find the failing payment.</goal></state_snapshot>', 'compacted'],
  'a title': ['Summary: the payment service refuses the card.', 'compacted'],
  'a heading': ['## Summary\n\nThe payment service refuses the card.', 'compacted'],
  'another task': ['Write a summary for the readme.', 'first_request'],
};

const PROMPT = 'Your task is to create a detailed summary of the conversation so far, paying close attention to it.';

it('compactions are the conversations that went on from a summary: one number in report, causes and control group', async () => {
  const upstream = new BillingUpstream();
  const proxy = await startProxy(await upstream.start(), { env: { MCP_PRUNER_PRICES: priceFile() } });
  const [summary = ''] = FIRST['Claude Code'] ?? [];
  for (const [session, goesOn] of Object.entries({ first: true, second: true, unused: false })) {
    const headers = { 'x-mcp-pruner-project': 'shop', 'x-claude-code-session-id': session };
    const messages = conversation(session, TURNS);
    const asked = [...messages, { role: 'assistant', content: 'ok' }, { role: 'user', content: PROMPT }];
    await upstream.send(proxy.url, messages, headers);
    await upstream.send(proxy.url, asked, headers);
    await upstream.send(proxy.url, asked, headers); // a retry
    if (goesOn) await upstream.send(proxy.url, [{ role: 'user', content: `${summary} ${session}` }], headers);
  }
  await proxy.stop();
  const store = openStore(proxy.dbPath);
  const { misses } = await readReport(store.ledger, { sinceDay: '2000-01-01' });
  const { compactions } = await readContexts(store.compactions, { sinceDay: '2000-01-01' });
  const conversations = await store.ledger.conversations({ sinceMs: 0, limit: 99 });
  expect({
    report: compactions.seen,
    causes: misses.find(({ cause }) => cause === 'compacted')?.requests,
    control: conversations.reduce((sum, one) => sum + one.compactions, 0),
  }).toEqual({ report: 2, causes: 2, control: 2 });
});

describe('a conversation that a client compacts to a single message', () => {
  it('gets the miss cause compacted for the wording of several clients, unlike a new task', async () => {
    const upstream = new BillingUpstream();
    const proxy = await startProxy(await upstream.start(), { env: { MCP_PRUNER_PRICES: priceFile() } });
    for (const [name, [text]] of Object.entries(FIRST)) {
      const headers = { 'x-mcp-pruner-project': name };
      const messages = conversation(name, TURNS);
      await upstream.send(proxy.url, messages, headers);
      await upstream.send(proxy.url, [{ role: 'user', content: text }], headers);
    }
    await proxy.stop();
    const turns = await turnsOf(openStore(proxy.dbPath));
    const causes = Object.fromEntries(
      turns.filter(({ removed }) => removed === 0).map(({ project, miss }) => [project, miss]),
    );
    expect(causes).toEqual(Object.fromEntries(Object.entries(FIRST).map(([name, [, cause]]) => [name, cause])));
  });
});
