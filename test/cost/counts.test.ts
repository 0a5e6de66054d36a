import { expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { agentConversation } from '../helpers/conversation.ts';
import { countedSql, type SqlCounts } from '../helpers/counted-sql.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';

const TURNS = 3;
const SEEN = 2;

/** Without the look for other processes, which an idle server makes as well. */
function withoutLooks({ writes, statements, by }: SqlCounts) {
  return { writes, statements: statements - (by.get('PRAGMA data_version') ?? 0) };
}

it('a turn and a repeated request need few statements and write transactions', async () => {
  const proxy = await startProxy(await startUpstream());
  const counts = countedSql(proxy.dbPath);
  const reader = new (sqliteDriver())(proxy.dbPath, { readonly: true });
  afterwards(() => reader.close());
  const plain = reader.prepare<[], number>('SELECT count(*) FROM snapshot WHERE packing = 0').pluck();
  const originals = reader.prepare<[], number>('SELECT count(*) FROM snapshot').pluck();
  const written = reader.prepare<[], number>('SELECT max(id) FROM content').pluck();
  const billed = reader.prepare<[], number>('SELECT count(*) FROM ledger_turn').pluck();
  const { messages, ends } = agentConversation(TURNS);
  const tools = ['bash', 'read_file', 'shell'].map((name) => ({
    type: 'function',
    function: { name, description: `Use ${name} with care. `.repeat(40), parameters: { type: 'object' } },
  }));
  let requests = 0;
  /** Sends a request at an agent's pace: the next one follows when everything about it is written. */
  const send = async (turn: number): Promise<void> => {
    await (
      await proxy.chat(JSON.stringify({ model: 'gpt-4o', tools, messages: messages.slice(0, ends[turn]) }))
    ).text();
    requests++;
    await until(() => billed.get() === requests);
  };
  /** The least that one of these requests took: on a busy machine, a timer may split what is written together. */
  const least = async (turns: readonly number[]) => {
    const taken: { writes: number; statements: number }[] = [];
    for (const turn of turns) {
      counts.reset();
      await send(turn);
      taken.push(withoutLooks(counts));
    }
    const min = (of: 'writes' | 'statements') => Math.min(...taken.map((one) => one[of]));
    return { writes: min('writes'), statements: min('statements') };
  };
  await send(0); // the first request of a process also records its settings
  const ofTurn = await least(Array.from({ length: TURNS - 1 }, (_, i) => i + 1));
  const ofSeen = await least(Array.from({ length: SEEN }, () => TURNS - 1));
  // each original is compressed when it is written, not written again for it
  expect(plain.get()).toBe(0);
  expect(originals.get()).toBeGreaterThanOrEqual(TURNS);
  expect(written.get()).toBe(originals.get());
  expect(ofTurn.writes).toBeLessThanOrEqual(3);
  expect(ofTurn.statements).toBeLessThanOrEqual(33);
  expect(ofSeen.writes).toBeLessThanOrEqual(1);
  expect(ofSeen.statements).toBeLessThanOrEqual(11);
});
