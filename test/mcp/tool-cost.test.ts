import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import { startProduct } from './helpers/product.ts';

async function toolsAt(url: string): Promise<string> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result } = (await answer.json()) as { result: { tools: readonly { name: string }[] } };
  return JSON.stringify(result.tools);
}

describe('the tool list', () => {
  it('takes fewer than 1,800 tokens, because many clients send it with every request', async () => {
    const proxy = await startProduct();
    expect(estimateTokens(await toolsAt(`${proxy.url}/rpc`))).toBeLessThan(1_800);
    expect(estimateTokens(await toolsAt(`${proxy.url}/rpc?tools=recover_text`))).toBeLessThan(270);
    // 350 tokens of four characters
    expect((await toolsAt(`${proxy.url}/rpc?tools=recover_text,recall`)).length).toBeLessThanOrEqual(1_400);
  });
});
