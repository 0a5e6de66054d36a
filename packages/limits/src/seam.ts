import { newestFinished, SHOWN_TOKENS } from '@mcp-pruner/money/finished-work.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { SeamShown } from './shapes.ts';

/** Finished work of the conversation that was active last; `null` below 100,000 tokens. @throws StoreUnavailable */
export async function readSeam(ledger: LedgerStore, prices: Prices, nowMs: number): Promise<SeamShown | null> {
  const found = await newestFinished(ledger, prices, nowMs);
  if (found === null || found.tokens < SHOWN_TOKENS) return null;
  const { conversationId, tokens, dollars, client } = found;
  return { conversation: conversationId, weight_tokens: tokens, price_usd: dollars, client };
}
