import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { chatBody, type Message, toolTurn } from '../helpers/chat.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { type Counts, type MeasuredProcess, startMeasuredProcess } from '../helpers/measured-process.ts';
import { sourceFile } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const REQUESTS = 40;
/** A report is made so long after its request at most: asking earlier makes rounds of writes without it. */
const REPORTS_EACH_MS = 30;
const ROUNDS = 3;

async function startServer() {
  const usage = { prompt_tokens: 500, completion_tokens: 7 };
  /** Answers that are held back. */
  let held: (() => void)[] | null = null;
  const upstream = await startUpstream((_request, res) => {
    const answer = (): void => json(res, 200, { choices: [], usage });
    if (held) held.push(answer);
    else answer();
  });
  const server = await startMeasuredProcess(upstream.url);
  const reader = new (sqliteDriver())(server.dbPath, { readonly: true });
  afterwards(() => reader.close());
  const billed = reader.prepare<[], number>('SELECT count(*) FROM ledger_turn').pluck();
  let sent = 0;
  /** Sends bodies, and waits until everything about them is written. */
  const sendAll = async (bodies: readonly Buffer[], headers: Record<string, string> = {}): Promise<void> => {
    for (const body of bodies) await server.send(body, headers);
    sent += bodies.length;
    await until(async () => {
      await pause(REPORTS_EACH_MS);
      await server.write();
      return billed.get() === sent;
    });
  };
  const send = (body: Buffer, headers?: Record<string, string>): Promise<void> =>
    sendAll(Array<Buffer>(REQUESTS).fill(body), headers);
  /** Source files that requests pass before they are sent on: the least of some rounds, as timers pass some as well. */
  const filesBefore = async (body: Buffer, headers?: Record<string, string>): Promise<number> => {
    const rounds: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const answers: (() => void)[] = [];
      held = answers;
      let sending: Promise<void>[] = [];
      const { files } = await server.counted(async () => {
        sending = Array.from({ length: REQUESTS }, () => server.send(body, headers));
        await until(() => answers.length === REQUESTS);
      });
      held = null;
      for (const answer of answers) answer();
      await Promise.all(sending);
      sent += REQUESTS;
      await sendAll([]);
      rounds.push(files);
    }
    return Math.min(...rounds);
  };
  return { server, send, sendAll, filesBefore };
}

/** What one request takes: the least of some rounds, as one may read the body again. */
async function countsFor(server: MeasuredProcess, work: () => Promise<void>): Promise<Counts> {
  const rounds: Counts[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await server.counted(work));
  const least = (of: keyof Counts): number => Math.min(...rounds.map((round) => round[of]));
  return { calls: least('calls') / REQUESTS, functions: least('functions'), files: least('files') };
}

/** Promises of one piece of work of some: the least of some rounds, since a slow machine reports more often. */
async function promisesFor(server: MeasuredProcess, pieces: number, work: () => Promise<void>): Promise<number> {
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push(await server.promises(work));
  return Math.min(...rounds) / pieces;
}

const START: readonly Message[] = [
  { role: 'system', content: 'You are a coding agent. '.repeat(40) },
  { role: 'user', content: 'Why do orders fail with a timeout in the session cache?' },
];
const SMALL = chatBody([...START, { role: 'user', content: 'Go on. '.repeat(120) }]);

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
  it('takes few calls of few functions in few files, and next to no promise, however long its history is', async () => {
    const { server, send, filesBefore } = await startServer();
    await send(SMALL);
    await send(SMALL);
    const { calls, functions, files } = await countsFor(server, () => send(SMALL));
    // the aims are 1,500 calls, 600 functions and 40 files; a bare proxy of node:http and undici takes 1,181 and 320
    expect(calls).toBeLessThanOrEqual(1_860);
    expect(functions).toBeLessThanOrEqual(860);
    expect(files).toBeLessThanOrEqual(102);
    // most are passed after the answer: answers, ledger, prices, metrics, store
    expect(await filesBefore(SMALL)).toBeLessThanOrEqual(44);
    expect(await promisesFor(server, REQUESTS, () => send(SMALL))).toBeLessThanOrEqual(6);
    // switched off, the aim is 25 files, with what follows the answer
    const off = { 'x-mcp-pruner': 'off' };
    await send(SMALL, off);
    const passed = await countsFor(server, () => send(SMALL, off));
    expect(passed.calls).toBeLessThanOrEqual(1_800);
    expect(passed.files).toBeLessThanOrEqual(86);
    expect(await filesBefore(SMALL, off)).toBeLessThanOrEqual(24);
    const [few, many] = [history(100), history(1_000)];
    await send(few);
    await send(many);
    const callsOf = async (body: Buffer): Promise<number> => (await countsFor(server, () => send(body))).calls;
    expect(await callsOf(many)).toBeLessThanOrEqual((await callsOf(few)) * 1.1);
  });
});

describe('a turn with a new result that is cut', () => {
  it('takes few files and promises', async () => {
    const { server, sendAll } = await startServer();
    const messages: Message[] = [...START];
    const turns = (count: number): Buffer[] =>
      Array.from({ length: count }, () => {
        const i = messages.length;
        messages.push(...toolTurn(`call_${i}`, 'read_file', { path: `src/part${i}.ts` }, sourceFile(200, i)));
        return chatBody(messages);
      });
    await sendAll(turns(5));
    // reached: 78 promises; the aims are 55 files and 20 promises, what follows the answer included
    const { files } = await server.counted(() => sendAll(turns(5)));
    expect(files).toBeLessThanOrEqual(235);
    expect(await promisesFor(server, 5, () => sendAll(turns(5)))).toBeLessThanOrEqual(85);
  });
});
