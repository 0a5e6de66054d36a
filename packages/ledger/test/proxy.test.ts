import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import { describe, expect, it } from 'vitest';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import {
  messagesBody,
  oneCall,
  toolResult,
  toolUse,
  type WireMessage,
  wireMessages,
} from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { readReport } from '../src/ledger.ts';
import { FakeProvider, type Piece } from './fake-provider.ts';

const RULES = {
  automatic: false,
  step: 1,
  minPrefix: 512,
  lifetimeMs: 300_000,
  input: 5,
  write: 6.25,
  read: 0.5,
  output: 25,
};
const MODEL = 'claude-opus-5';

/** The pieces of a body as a provider counts them: by the very estimate that the proxy goes by. */
function piecesOf(messages: readonly WireMessage[]): Piece[] {
  const texts = messages.map(({ content }) => (typeof content === 'string' ? content : said(content)));
  return [
    { says: 'head', tokens: 3_000 },
    ...texts.map((text) => ({ says: text, tokens: 4 + Math.round(estimateTokens(text)) })),
  ];
}

function said(content: readonly { readonly [field: string]: unknown }[]): string {
  return content.map(({ text, content: inner, input }) => String(text ?? inner ?? JSON.stringify(input))).join('\n');
}

function conversation(turns: number): WireMessage[] {
  const messages: WireMessage[] = [...oneCall(serverLog(400))];
  for (let i = 2; i <= turns; i++) {
    messages.push({ role: 'assistant', content: [toolUse(`toolu_${i}`, 'Bash', { command: `npm test ${i}` })] });
    messages.push({ role: 'user', content: [toolResult(`toolu_${i}`, serverLog(300 + 50 * i))] });
  }
  return messages;
}

async function play(env: Readonly<Record<string, string>>) {
  const provider = new FakeProvider(RULES);
  const twin = new FakeProvider(RULES);
  const anthropic = await startUpstream((request, res, index) => {
    const { input, output, read, written } = provider.request(MODEL, piecesOf(wireMessages(request.body)), 50, index);
    const usage = {
      input_tokens: (input ?? 0) - (read ?? 0) - (written ?? 0),
      cache_creation_input_tokens: written,
      cache_read_input_tokens: read,
      output_tokens: output,
      cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
    };
    json(res, 200, { type: 'message', role: 'assistant', model: MODEL, content: [], usage });
  });
  const url = `http://127.0.0.1:${anthropic.port}/v1`;
  const proxy = await startProxy(anthropic, { env: { MCP_PRUNER_ANTHROPIC_URL: url, ...env } });
  const all = conversation(5);
  for (let turn = 1; turn <= 5; turn++) {
    const messages = all.slice(0, 2 * turn - 1);
    twin.request(MODEL, piecesOf(messages), 50, turn);
    const body = messagesBody(messages, { model: MODEL, cache_control: { type: 'ephemeral' } });
    const headers = { 'content-type': 'application/json', 'x-mcp-pruner-project': 'shop' };
    const answer = await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body });
    await answer.text();
  }
  const metrics = await until(async () => {
    const page = await (await fetch(`${proxy.url}/metrics`)).text();
    return page.includes(`mcp_pruner_dollars_total{model="${MODEL}"}`) && page;
  });
  await proxy.stop();
  const { ledger } = openStore(proxy.dbPath);
  const [recorded] = await ledger.conversations({ sinceMs: 0, limit: 9 });
  const turns = await ledger.turns({ conversationId: recorded?.conversationId ?? '', limit: 99 });
  return { provider, twin, ledger, recorded, turns, proxy, metrics };
}

describe('the ledger of the proxy', () => {
  it('matches the provider’s bill, and the cost of the same conversation without cuts', async () => {
    const { provider, twin, recorded, turns, ledger, proxy, metrics } = await play({});
    expect(turns.map(({ miss }) => miss)).toEqual(['first_request', null, null, null, null]);
    expect(
      turns.every(
        ({ removed, arm, project }, i) => (i === 0 || removed > 1_000) && arm === 'pruned' && project === 'shop',
      ),
    ).toBe(true);
    expect(recorded?.dollars).toBeCloseTo(provider.dollars, 6);
    // removed tokens are estimates: the whole is right to 2 %
    expect(Math.abs((recorded?.dollarsWithout ?? 0) / twin.dollars - 1)).toBeLessThan(0.02);
    expect((recorded?.dollarsWithout ?? 0) - (recorded?.dollars ?? 0)).toBeGreaterThan(0.02);
    const sums = await ledger.sums({ sinceDay: '2000-01-01' });
    expect(sums.find(({ slice, field }) => slice === 'all' && field === 'requests')?.value).toBe(5);
    expect(
      sums.some(({ slice, key, field }) => slice === 'tool' && key.startsWith('Bash\t') && field === 'saved'),
    ).toBe(true);
    expect(metrics).toContain('mcp_pruner_cache_miss_tokens_total{cause="first_request"}');
    expect(await proxy.logText()).not.toContain('not_billed');
  });

  it('reports in shadow mode what would have been saved, and sends every byte unchanged', async () => {
    const [pruned, looked] = [await play({}), await play({ MCP_PRUNER_MODE: 'shadow' })];
    expect(looked.provider.dollars).toBeCloseTo(looked.twin.dollars, 9);
    const { totals } = await readReport(looked.ledger, { sinceDay: '2000-01-01' });
    const { totals: really } = await readReport(pruned.ledger, { sinceDay: '2000-01-01' });
    expect(totals).toMatchObject({ requests: 5, gross: 0, removed: 0, removedNew: 0 });
    expect(totals.wouldRemove).toBeGreaterThan(5_000);
    expect(Math.abs(totals.wouldSave / really.gross - 1)).toBeLessThan(0.1);
  });

  it('leaves a held-out conversation whole, and marks it', async () => {
    const { provider, twin, turns } = await play({ MCP_PRUNER_HOLDOUT: '1' });
    expect(turns.map(({ arm, removed }) => [arm, removed])).toEqual(turns.map(() => ['control', 0]));
    expect([turns.length, provider.dollars]).toEqual([5, twin.dollars]);
  });
});
