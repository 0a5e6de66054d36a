import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { SeamRequest } from 'mcp-pruner/core/ports/seams.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { anthropicMessages } from 'mcp-pruner/wires/dialects/anthropic-messages/dialect.ts';
import { expect, it } from 'vitest';
import type { Background } from '../src/background.ts';
import type { CompactionBook } from '../src/book.ts';
import { Seat } from '../src/seat.ts';

function requestOf(session: string, turns: number, waited: () => boolean): SeamRequest {
  const turn = [
    { role: 'user', content: 'And now?' },
    { role: 'assistant', content: 'Yes.' },
  ];
  const messages = Array(turns).fill(turn).flat().slice(0, -1);
  const body = Buffer.from(JSON.stringify({ model: 'm', messages }));
  const { messages: scanned } = anthropicMessages.scan(body);
  const rewritten = { conversationId: 'c', shownId: `${session}-c`, messages: scanned, prefixes: ['a', 'b', 'c'] };
  const request: Partial<SeamRequest> = { project: 'p', body, dialect: anthropicMessages, purpose: 'generate' };
  const wait = async () => waited();
  return { ...request, rewritten, wait, rawHeaders: [], requestId: 'r' } as unknown as SeamRequest;
}

it('a request waits for a store that cannot be read only if it may have a block, and once in an outage', async () => {
  let isGone = true;
  const clock = { now: 1_000, nowMs: () => clock.now };
  const ofConversation = () => (isGone ? Promise.reject(new StoreUnavailable('locked')) : Promise.resolve([]));
  const seat = new Seat({
    settings: { seams: 'measure' } as Settings,
    settingOf: () => undefined,
    book: { ofConversation, takeErased: () => undefined } as unknown as CompactionBook,
    background: {} as Background,
    ledger: {} as LedgerStore,
    clock,
    budgets: () => null,
    onUnknownHeader: () => {},
    onRefused: () => {},
    onFailure: () => {},
  });
  let waits = 0;
  const sendsWhole = async (session: string, turns = 2): Promise<number> => {
    waits = 0;
    const exchange = await seat.enter(requestOf(session, turns, () => ++waits < 3));
    expect(exchange.swapped).toBeNull();
    clock.now += 1_000;
    return waits;
  };
  expect(await sendsWhole('new', 1)).toBe(0);
  expect(await sendsWhole('long')).toBe(3);
  expect(await sendsWhole('long')).toBe(0);
  expect(await sendsWhole('other')).toBe(3);
  isGone = false;
  expect(await sendsWhole('long')).toBe(0);
  isGone = true;
  expect(await sendsWhole('long')).toBe(3);
});
