import { describe, expect, it } from 'vitest';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import { startProduct } from './helpers/product.ts';

async function tokensOf(url: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const answer = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const { result } = (await answer.json()) as { result: { tools: readonly { name: string }[] } };
  return estimateTokens(JSON.stringify(result.tools));
}

describe('the list of tools', () => {
  it('costs little, since many clients send it with every request', async () => {
    const proxy = await startProduct();
    expect(await tokensOf(`${proxy.url}/rpc`)).toBeLessThan(1_700);
    expect(await tokensOf(`${proxy.url}/rpc?tools=recover_text`)).toBeLessThan(270);
  });
});
