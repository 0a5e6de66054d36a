import { join } from 'node:path';
import { edition } from 'mcp-pruner/edition.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { expect, it, vi } from 'vitest';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { type Compaction, CompactionBook } from '../src/book.ts';
import { seamTables } from '../src/tables.ts';

const ASKED = {
  ...{ project: 'p', conversation: 'c', shown: 's-c', keyId: '', wire: 'messages', model: 'm', host: 'h' },
  ...{ prefix: 'abc', messages: 3, pictures: 0, weight: 150_000, askedMs: 1_000 },
};

function openStore() {
  const path = join(tempFolder(), 'store.db');
  makeStore(path, edition.tables);
  const kept = { ttlMs: 1e9, maxBytes: 1e9, maxEvents: 1_000 };
  const store = openSqliteStore({ path, clock: { nowMs: () => 1_000 }, ...kept, parts: edition.tables });
  afterwards(() => store.close());
  return store;
}

it('knows a block and its line while the store cannot be read, as this process left them', async () => {
  const { sql } = openStore();
  let isGone = false;
  const book = new CompactionBook(
    Object.assign(Object.create(sql) as typeof sql, {
      write: sql.write.bind(sql),
      all: (...of: Parameters<typeof sql.all>) =>
        isGone ? Promise.reject(new StoreUnavailable('locked')) : sql.all(...of),
    }),
  );
  const known = () => book.ofConversation('p', 'c');
  const id = Number(await book.ask(ASKED));
  await book.ready(id, '{"type":"compaction"}', { leftOver: 10_000, dollars: 0.1, atMs: 2_000 });
  expect(await known()).toMatchObject([{ state: 'ready', linePrefix: '' }]);
  expect(await book.use(id, 5, 3_000)).toBe(true);
  isGone = true;
  // another process may have placed the line
  await expect(known()).rejects.toThrow(StoreUnavailable);
  await book.place(id, 'Earlier messages are gone.', 'def');
  expect(await known()).toMatchObject([
    { state: 'used', usedMessages: 5, line: 'Earlier messages are gone.', linePrefix: 'def' },
  ]);
  await book.become(id, 'kept', ['used']);
  expect(await known()).toMatchObject([{ state: 'kept', linePrefix: 'def' }]);
  isGone = false;
  const read = await known();
  isGone = true;
  expect(await known()).toEqual(read);
  await book.become(id, 'refused', ['kept']);
  await expect(known()).rejects.toThrow(StoreUnavailable);
});

it('knows that a conversation does without its block while nothing can be stored or read, and stores it later', async () => {
  const { sql } = openStore();
  let isGone = false;
  const unlessGone = <A extends unknown[], T>(call: (...of: A) => Promise<T>) => {
    return (...of: A): Promise<T> => (isGone ? Promise.reject(new StoreUnavailable('error')) : call(...of));
  };
  const failing = { write: unlessGone(sql.write.bind(sql)), all: unlessGone(sql.all.bind(sql)) };
  const book = new CompactionBook(Object.assign(Object.create(sql) as typeof sql, failing));
  const known = async (of = book) => (await of.ofConversation('p', 'c')).map(({ state }) => state);
  const id = Number(await book.ask(ASKED));
  await book.ready(id, '{"type":"compaction"}', { leftOver: 10_000, dollars: 0.1, atMs: 2_000 });
  await book.use(id, 5, 3_000);
  await book.place(id, 'Earlier messages are gone.', 'def');
  expect(await known()).toEqual(['used']);
  isGone = true;
  await expect(book.lost({ ...ASKED, messages: 9, usedMessages: 5 })).rejects.toThrow(StoreUnavailable);
  expect(await known()).toEqual(['lost', 'used']);
  isGone = false;
  const other = new CompactionBook(sql);
  expect(await known(other)).toEqual(['used']);
  expect(await known()).toEqual(['lost', 'used']);
  expect(await known(other)).toEqual(['lost', 'used']);
  isGone = true;
  expect(await known()).toEqual(['lost', 'used']);
});

it('keeps small blocks in memory, and large ones only up to a size', async () => {
  const { sql } = openStore();
  const all = vi.spyOn(sql, 'all');
  const book = new CompactionBook(sql);
  const reads = async (of: readonly Compaction[]): Promise<number> => {
    all.mockClear();
    for (const one of of) await book.blockOf(one);
    return all.mock.calls.length;
  };
  const add = async (conversation: string, chars: number): Promise<Compaction> => {
    const id = Number(await book.ask({ ...ASKED, conversation }));
    await book.ready(id, 'x'.repeat(chars), { leftOver: 1, dollars: 0.1, atMs: 2_000 });
    const [one] = await book.ofConversation('p', conversation);
    return one as Compaction;
  };
  const small: Compaction[] = [];
  for (let i = 0; i < 50; i++) small.push(await add(`small ${i}`, 40_000));
  expect([await reads(small), await reads(small)]).toEqual([50, 0]);
  const large: Compaction[] = [];
  for (let i = 0; i < 12; i++) large.push(await add(`large ${i}`, 2_000_000));
  expect([await reads(large), await reads(large)]).toEqual([12, 12]);
});

it('erasing one conversation removes its block, and no other; the next one with its number gets its own', async () => {
  const { sql } = openStore();
  const book = new CompactionBook(sql);
  const blockOf = (conversation: string): string =>
    JSON.stringify({ type: 'compaction', content: `of ${conversation}` });
  const add = async (of: Partial<typeof ASKED> = {}): Promise<Compaction> => {
    const { project, conversation } = { ...ASKED, ...of };
    const id = Number(await book.ask({ ...ASKED, ...of, prefix: `prefix of ${conversation}` }));
    await book.ready(id, blockOf(conversation), { leftOver: 10_000, dollars: 0.1, atMs: 2_000 });
    const [added] = await book.ofConversation(project, conversation);
    return added as Compaction;
  };
  const others = [
    await add({ conversation: 'd', shown: 's-d' }),
    await add({ project: 'q', conversation: 'e', shown: 's-c' }),
  ];
  const gone = await add();
  expect(await book.blockOf(gone)).toBe(blockOf('c'));
  const { eraseNames } = seamTables;
  if (eraseNames === undefined) throw new Error('nothing can be erased');
  await sql.write(() => eraseNames({ project: 'p', conversations: ['s-c'] }));
  expect(await book.ofConversation('p', 'c')).toEqual([]);
  expect(await book.blockOf(gone)).toBeNull();
  expect(await Promise.all(others.map((one) => book.blockOf(one)))).toEqual([blockOf('d'), blockOf('e')]);
  // the process that sent the block never hears of the erasure
  const sent = await add({ conversation: 'f', shown: 's-f' });
  expect(await book.blockOf(sent)).toBe(blockOf('f'));
  await sql.write(() => eraseNames({ project: 'p', conversations: ['s-f'] }));
  const next = await add({ conversation: 'g', shown: 's-g' });
  expect([next.id, await book.blockOf(next)]).toEqual([sent.id, blockOf('g')]);
});
