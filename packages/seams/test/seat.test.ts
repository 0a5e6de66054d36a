import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { SeamRequest } from 'mcp-pruner/core/ports/seams.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { anthropicMessages } from 'mcp-pruner/wires/dialects/anthropic-messages/dialect.ts';
import { afterEach, expect, it, vi } from 'vitest';
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

function seatOver(book: Partial<CompactionBook>, clock: Clock): Seat {
  return new Seat({
    settings: { seams: 'measure' } as Settings,
    settingOf: () => undefined,
    book: book as CompactionBook,
    background: {} as Background,
    ledger: {} as LedgerStore,
    clock,
    budgets: () => null,
    onUnknownHeader: () => {},
    onRefused: () => {},
    onFailure: () => {},
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

it('a process looks for compactions of others while requests come, and an idle one runs no statements', async () => {
  let nowMs = 10_000;
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const hasAny = vi.fn(async () => false);
  const seat = seatOver({ hasAny }, { nowMs: () => nowMs });
  const looksIn = async (seconds: number): Promise<number> => {
    hasAny.mockClear();
    for (let i = 0; i < seconds; i++) {
      nowMs += 1_000;
      seat.lookOn();
      await Promise.resolve();
    }
    return hasAny.mock.calls.length;
  };
  await seat.look();
  expect(await looksIn(100)).toBe(0);
  expect(seat.concerns('p', 'messages', false)).toBe(true); // what is known is old: it asks the store itself
  expect(await looksIn(10)).toBe(10);
  expect(seat.concerns('p', 'messages', false)).toBe(false);
  await looksIn(60);
  expect(await looksIn(100)).toBe(0);
});

it('a request waits for a store that cannot be read only if it may have a block, and once in an outage', async () => {
  let isGone = true;
  const clock = { now: 1_000, nowMs: () => clock.now };
  const ofConversation = () => (isGone ? Promise.reject(new StoreUnavailable('locked')) : Promise.resolve([]));
  const seat = seatOver({ ofConversation, takeErased: () => undefined }, clock);
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
