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
/** Rounds until the figures are within their limits: the server's timers work as well, more often on a slow machine. */
const MOST_ROUNDS = 10;

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
  /** Source files that requests pass before they are sent on. */
  const filesBefore = async (body: Buffer, headers?: Record<string, string>): Promise<number> => {
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
    return files;
  };
  return { server, send, sendAll, filesBefore };
}

/** Measures until the least of each figure is within its limit. */
async function expectWithin<Name extends string>(
  limits: Readonly<Record<Name, number>>,
  measure: () => Promise<Readonly<Record<NoInfer<Name>, number>>>,
): Promise<void> {
  const least: Record<string, number> = {};
  const above = () => Object.entries<number>(limits).filter(([name, limit]) => !((least[name] ?? Infinity) <= limit));
  for (let round = 0; round < MOST_ROUNDS && above().length > 0; round++) {
    for (const [name, value] of Object.entries<number>(await measure()))
      least[name] = Math.min(least[name] ?? Infinity, value);
  }
  expect(above(), JSON.stringify(least)).toEqual([]);
}

/** What one request takes. */
async function countsFor(server: MeasuredProcess, work: () => Promise<void>): Promise<Counts> {
  const { calls, ...counts } = await server.counted(work);
  return { calls: calls / REQUESTS, ...counts };
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
    // the aims are 1,500 calls, 600 functions and 40 files; a bare proxy of node:http and undici takes 1,181 and 320
    await expectWithin({ calls: 1_860, functions: 860, files: 102 }, () => countsFor(server, () => send(SMALL)));
    // most are passed after the answer: answers, ledger, prices, metrics, store
    await expectWithin({ files: 44 }, async () => ({ files: await filesBefore(SMALL) }));
    const promises = async () => ({ promises: (await server.promises(() => send(SMALL))) / REQUESTS });
    await expectWithin({ promises: 6 }, promises);
    // switched off, the aim is 25 files, with what follows the answer
    const off = { 'x-mcp-pruner': 'off' };
    await send(SMALL, off);
    await expectWithin({ calls: 1_800, files: 86 }, () => countsFor(server, () => send(SMALL, off)));
    await expectWithin({ files: 24 }, async () => ({ files: await filesBefore(SMALL, off) }));
    const [few, many] = [history(100), history(1_000)];
    await send(few);
    await send(many);
    const callsOf = async (body: Buffer): Promise<number> => (await countsFor(server, () => send(body))).calls;
    await expectWithin({ growth: 1.1 }, async () => ({ growth: (await callsOf(many)) / (await callsOf(few)) }));
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
    await expectWithin({ files: 235 }, () => server.counted(() => sendAll(turns(5))));
    await expectWithin({ promises: 85 }, async () => ({
      promises: (await server.promises(() => sendAll(turns(5)))) / 5,
    }));
  });
});
