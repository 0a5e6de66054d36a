import { join } from 'node:path';
import { Prices } from '@mcp-pruner/money/prices.ts';
import fc from 'fast-check';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import { change } from 'mcp-pruner/store/sql/steps.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { packRows, unpackRows } from '../src/conversation-state.ts';
import { Ledger } from '../src/ledger.ts';
import { decodeFacts, encodeFacts } from '../src/settlement.ts';

const DAY = 86_400_000;
const HEAD = 2_000;

/** What a request differs in from the usual one; tokens are counted from its messages. */
interface Asked {
  readonly messages: number;
  readonly conversationId?: string;
  readonly project?: string;
  readonly lineage?: string;
  readonly read: number;
  readonly atMs?: number;
  readonly newest?: readonly string[];
  readonly summarised?: true;
}

/** Messages of 1,000 tokens each, of which every second, a tool's result, lost 500 more. */
function request(requestId: string, asked: Asked): RequestFacts {
  const { messages: count, conversationId = 'c1', project = 'shop', lineage = 'l1', read, atMs = 1_000 } = asked;
  const messages = Array.from({ length: count }, (_, i) => {
    const cut = i > 0 && i % 2 === 0;
    return {
      prefix: `${conversationId}.${i}`,
      bytes: 4_000,
      removed: cut ? 500 : 0,
      cuts: cut ? 'x' : '',
      kind: 'log',
    };
  });
  const input = HEAD + 1_000 * count;
  const from = count > 1 ? count - 1 : 0;
  return {
    ...{
      requestId,
      atMs,
      project,
      conversationId,
      wire: 'messages',
      model: 'm',
      arm: 'pruned',
      tools: 't',
      system: 's',
    },
    ...{
      messages,
      bytes: 4 * input,
      cacheUpTo: count,
      lineage,
      newest: asked.newest ?? [`${conversationId}.${count}`],
    },
    usage: { input, output: 100, read, written: input - read, written1h: input - read },
    texts: [{ tool: 'Bash', kind: 'log', cut: true, tokensBefore: 900, tokensAfter: 400, message: from }],
    regrets: [],
    fresh: { from, answerFrom: Math.max(0, from - 1), tokens: 0 },
    ...(asked.summarised && { summarised: asked.summarised }),
  };
}

const ROW =
  '[[price]]\nmodel = "m"\nprovider = "p"\ninput = 5\ncache_write_1h = 10\ncache_read = 0.5\noutput = 25\nmin_prefix = 0\nday = "2026-11-23"\nsource = "s"\n';
const prices = new Prices([{ path: 'prices.toml', text: ROW }]);

describe('the ledger’s history of a conversation', () => {
  let path = '';
  beforeEach(() => {
    path = join(tempFolder(), 'store.db');
  });

  /** Bills requests by a ledger each, as if each went through a process of its own. */
  async function billed(...requests: RequestFacts[]): Promise<readonly LedgerTurn[]> {
    const turns: LedgerTurn[] = [];
    for (const facts of requests) {
      const store = openStore(path);
      const onFailure = (_: string, cause: unknown): never => {
        throw cause;
      };
      const onBilled = (turn: LedgerTurn): void => void turns.push(turn);
      const ledger = new Ledger({ store: store.ledger, prices, clock: { nowMs: Date.now }, onFailure, onBilled });
      ledger.request(facts);
      await ledger.close();
      await store.close();
    }
    return turns;
  }

  it('is stored, so that a later process counts no old cuts as new and records no false miss', async () => {
    const turns = await billed(
      request('r1', { messages: 3, read: 0 }),
      request('r2', { messages: 5, read: HEAD + 3_000 }),
      request('r3', { messages: 7, read: HEAD + 5_000 }),
    );
    expect(turns.map(({ miss }) => miss)).toEqual(['unknown', null, null]);
    expect(turns.map(({ removed, removedNew }) => [removed, removedNew])).toEqual([
      [500, 500],
      [1_000, 500],
      [1_500, 500],
    ]);
  });

  it('is not needed to recognise old cuts: cuts before the first new message are not new', async () => {
    const [turn] = await billed(request('r1', { messages: 9, read: HEAD + 7_000 }));
    expect(turn).toMatchObject({ miss: null, removed: 2_000, removedNew: 500 });
    // read at a tenth of the price, and only the newest cut would have been written
    expect((turn?.dollarsWithout ?? 0) - (turn?.dollars ?? 0)).toBeCloseTo((1_500 * 0.5 + 500 * 10) / 1e6, 9);
  });

  it('may lack a lost request without a change to the figures of a later request', async () => {
    const all = [
      request('r1', { messages: 3, read: 0 }),
      request('r2', { messages: 5, read: HEAD + 3_000 }),
      request('r3', { messages: 7, read: HEAD + 5_000 }),
    ];
    const whole = await billed(...all);
    path = join(tempFolder(), 'other.db');
    const lossy = await billed(...all.filter(({ requestId }) => requestId !== 'r2'));
    expect(lossy.at(-1)).toEqual(whole.at(-1));
  });

  it('is written with a heartbeat of the process once an hour, or when the store has none', async () => {
    const store = openStore(path);
    let nowMs = 1_000;
    const onFailure = (_: string, cause: unknown): never => {
      throw cause;
    };
    const ledger = new Ledger({
      store: store.ledger,
      prices,
      clock: { nowMs: () => nowMs },
      onFailure,
      processId: 'p',
    });
    const beatAfter = async (requestId: string, atMs: number): Promise<unknown> => {
      nowMs = atMs;
      ledger.request(request(requestId, { messages: 1, read: 0, conversationId: requestId, atMs }));
      await ledger.flush();
      const [row] = await store.sql.all<{ at: number }>(
        "SELECT at_ms AS at FROM main.ledger_state WHERE lineage = 'process' AND name LIKE '%p'",
      );
      return row?.at;
    };
    const hour = 3_600_000;
    expect(await beatAfter('r1', 1_000)).toBe(1_000 + hour);
    expect(await beatAfter('r2', 9_000)).toBe(1_000 + hour);
    expect(await beatAfter('r3', 1_000 + hour)).toBe(1_000 + 2 * hour);
    await store.sql.write(() => change("DELETE FROM main.ledger_state WHERE lineage = 'process'"));
    expect(await beatAfter('r4', 2_000 + hour)).toBe(2_000 + 2 * hour);
    await ledger.close();
    expect(await store.ledger.processes({ lineage: 'process', aliveFromMs: 0 })).toBe(0);
    await store.close();
  });

  it('belongs to one project: the same first words in another project start a new history', async () => {
    const [, other] = await billed(
      request('r1', { messages: 1, read: 0 }),
      request('r2', { messages: 1, read: 0, project: 'mine', lineage: 'l2' }),
    );
    expect(other).toMatchObject({ project: 'mine', miss: 'first_request', missTokens: HEAD + 1_000 });
  });

  describe('a compaction by the client', () => {
    const long = () => request('r1', { messages: 9, read: HEAD, newest: ['a', 'b'] });
    const compacted = (more: Partial<Asked> = {}) =>
      request('r2', { messages: 1, read: HEAD, conversationId: 'c2', summarised: true, newest: ['s'], ...more });

    it.each<[string, Partial<Asked>]>([
      ['to a single message that carries the summary', {}],
      ['to a summary and the newest message', { messages: 2, newest: ['s', 'b'] }],
      ['89 days later', { atMs: 89 * DAY }],
    ])('is the cause of the miss: %s', async (_, more) => {
      const [, turn] = await billed(long(), compacted(more));
      expect(turn?.miss).toBe('compacted');
      expect(turn?.missTokens).toBe((more.messages ?? 1) * 1_000);
    });

    it.each<[string, Partial<Asked>]>([
      ['another key, model, tool or system prompt', { lineage: 'l2' }],
      ['91 days later', { atMs: 91 * DAY }],
      ['a provider that read as much as before', { messages: 20, read: HEAD + 9_000 }],
    ])('is not the cause: %s', async (_, more) => {
      const [, turn] = await billed(long(), compacted(more));
      expect(turn?.miss).not.toBe('compacted');
    });

    it('is not the cause of a new conversation without a summary', async () => {
      const [, turn] = await billed(long(), request('r2', { messages: 1, read: HEAD, conversationId: 'c2' }));
      expect(turn?.miss).toBe('first_request');
    });
  });
});

describe('a request queued in the store', () => {
  it('is read as it was written', () => {
    const facts = request('r1', { messages: 7, read: 12 });
    expect(decodeFacts(encodeFacts(facts))).toEqual(facts);
  });

  it('keeps rows of texts and numbers, including absent values', () => {
    const row = fc.record(
      { prefix: fc.stringMatching(/^[a-z0-9]*$/), cuts: fc.stringMatching(/^[a-z0-9]*$/), exact: fc.integer() },
      { requiredKeys: ['prefix'] },
    );
    fc.assert(
      fc.property(fc.array(row), (rows) => {
        expect(unpackRows(packRows(rows))).toEqual(rows);
      }),
    );
  });
});
