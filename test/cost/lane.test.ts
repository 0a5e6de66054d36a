import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, type Message } from '../helpers/chat.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { type MeasuredProcess, startMeasuredProcess } from '../helpers/measured-process.ts';
import { until } from '../helpers/until.ts';

const REQUESTS = 40;
const ROUNDS = 3;

async function startServer() {
  const usage = { prompt_tokens: 500, completion_tokens: 7 };
  const upstream = await startUpstream((_request, res) => json(res, 200, { choices: [], usage }));
  const server = await startMeasuredProcess(upstream.url);
  const reader = new (sqliteDriver())(server.dbPath, { readonly: true });
  afterwards(() => reader.close());
  const billed = reader.prepare<[], number>('SELECT count(*) FROM ledger_turn').pluck();
  let sent = 0;
  /** Sends bodies, and waits until everything about them is written. */
  const send = async (body: Buffer, count = REQUESTS): Promise<void> => {
    for (let i = 0; i < count; i++) await server.send(body);
    sent += count;
    await until(() => billed.get() === sent);
  };
  return { server, send };
}

/** Calls for one request, and distinct functions called: the least of some rounds, as one may read the body again. */
async function callsFor(server: MeasuredProcess, work: () => Promise<void>) {
  const rounds: { calls: number; functions: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await server.counted(work));
  const calls = Math.min(...rounds.map((round) => round.calls)) / REQUESTS;
  return { calls, functions: Math.min(...rounds.map((round) => round.functions)) };
}

const START: readonly Message[] = [
  { role: 'system', content: 'You are a coding agent. '.repeat(40) },
  { role: 'user', content: 'Why do orders fail with a timeout in the session cache?' },
];

/** A body of some messages after the first two. */
function history(messages: number): Buffer {
  const roles = ['assistant', 'user'] as const;
  const said = Array.from({ length: messages - 2 }, (_, i) => ({
    role: roles[i % 2] ?? 'user',
    content: `Step ${i}.`,
  }));
  return chatBody([...START, ...said]);
}

describe('a request in which nothing is to be decided, with its report and bill', () => {
  it('takes few calls of few functions, and next to no promise', async () => {
    const { server, send } = await startServer();
    const small = chatBody([...START, { role: 'user', content: 'Go on. '.repeat(120) }]);
    await send(small);
    await send(small);
    const { calls, functions } = await callsFor(server, () => send(small));
    expect(calls).toBeLessThanOrEqual(3_000);
    expect(functions).toBeLessThanOrEqual(1_100);
    expect((await server.promises(() => send(small))) / REQUESTS).toBeLessThanOrEqual(20);
  });

  it('takes as many calls after 1,000 messages as after 100', async () => {
    const { server, send } = await startServer();
    const calls: number[] = [];
    for (const messages of [100, 1_000]) {
      await send(history(messages));
      calls.push((await callsFor(server, () => send(history(messages)))).calls);
    }
    const [few = 0, many = 0] = calls;
    expect(many).toBeLessThanOrEqual(few * 1.1);
  });
});
