import { MemoryLedger } from '@mcp-pruner/lab/replay/memory-ledger.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import type { MessageFacts, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import { expect, it } from 'vitest';
import { allocatedBytes } from '../../../test/helpers/allocated.ts';
import { Ledger } from '../src/ledger.ts';

/** A message of a conversation; every second one has cuts. */
function message(i: number): MessageFacts {
  const fact = { prefix: `prefix-${String(i).padStart(5, '0')}`, bytes: 2_000 + i, removed: 0, cuts: '' };
  return i % 2 === 0 ? fact : { ...fact, removed: 400, cuts: `cut${i}` };
}

/** Bytes that the ledger allocates for each of the next requests of a conversation with this many messages. */
async function bytesPerRequest(length: number): Promise<number> {
  const ledger = new Ledger({
    store: new MemoryLedger(),
    prices: new Prices([]),
    clock: { nowMs: () => 1 },
    onFailure: (_reason, cause) => {
      throw cause;
    },
  });
  const messages = Array.from({ length: length + 60 }, (_, i) => message(i));
  let now = length;
  const next = async (): Promise<void> => {
    now += 2;
    const facts: RequestFacts = {
      requestId: `r${now}`,
      atMs: now,
      project: 'p',
      conversationId: 'c',
      wire: 'chat',
      model: 'm',
      arm: 'pruned',
      usage: { input: now * 500, output: 50, read: now * 400, written: null, written1h: null },
      tools: 't',
      system: 's',
      messages: messages.slice(0, now),
      bytes: now * 2_000,
      cacheUpTo: null,
      texts: [],
      regrets: [],
      fresh: { from: now - 1, answerFrom: now - 2, tokens: 900, said: 90 },
    };
    ledger.request(facts);
    await ledger.flush();
  };
  for (let i = 0; i < 10; i++) await next();
  const requests = 10;
  const bytes = await allocatedBytes(async () => {
    for (let i = 0; i < requests; i++) await next();
  });
  return bytes / requests;
}

it('a bill allocates little memory, and only slightly more in a long conversation', async () => {
  const short: number[] = [];
  const long: number[] = [];
  for (let round = 0; round < 3; round++) {
    short.push(await bytesPerRequest(60));
    long.push(await bytesPerRequest(600));
  }
  // the least of three: other work of this process may allocate meanwhile. The ratio is 2.0 on Node 20, 3.1 on 24, and
  // 3.7 with a bill of every message
  expect(Math.min(...short) / 1024).toBeLessThan(220);
  expect(Math.min(...long) / Math.min(...short)).toBeLessThan(3.4);
});
