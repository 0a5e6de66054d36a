import { expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { agentConversation } from '../helpers/conversation.ts';
import { countedSql } from '../helpers/counted-sql.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { until } from '../helpers/until.ts';

const TURNS = 3;
const SEEN = 2;

it('a turn and a repeated request take few statements and write transactions', async () => {
  const counts = countedSql();
  const proxy = await startProxy(await startUpstream());
  const reader = new (sqliteDriver())(proxy.dbPath, { readonly: true });
  afterwards(() => reader.close());
  const billed = reader.prepare<[], number>('SELECT count(*) FROM ledger_turn').pluck();
  const { messages, ends } = agentConversation(TURNS);
  let requests = 0;
  /** Sends a request at an agent's pace: the next one follows when everything about it is written. */
  const send = async (turn: number): Promise<void> => {
    await (await proxy.chat(JSON.stringify({ model: 'gpt-4o', messages: messages.slice(0, ends[turn]) }))).text();
    requests++;
    await until(() => billed.get() === requests);
  };
  await send(0); // the first request of a process also records its settings
  counts.reset();
  for (let turn = 1; turn < TURNS; turn++) await send(turn);
  const ofTurn = { writes: counts.writes / (TURNS - 1), statements: counts.statements / (TURNS - 1) };
  counts.reset();
  for (let i = 0; i < SEEN; i++) await send(TURNS - 1);
  const ofSeen = { writes: counts.writes / SEEN, statements: counts.statements / SEEN };
  expect(ofTurn.writes).toBeLessThanOrEqual(9);
  expect(ofTurn.statements).toBeLessThanOrEqual(110);
  expect(ofSeen.writes).toBeLessThanOrEqual(2);
  expect(ofSeen.statements).toBeLessThanOrEqual(25);
});
