import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { chatBody, type Message, toolTurn } from '../helpers/chat.ts';
import { type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { type MeasuredProcess, startMeasuredProcess } from '../helpers/measured-process.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const USER: Message = { role: 'user', content: 'Find out why the payment fails.' };
const USAGE = { prompt_tokens: 1_000, completion_tokens: 20, prompt_tokens_details: { cached_tokens: 0 } };
const MB = 1024 * 1024;

/** A conversation with as many results of a number of lines as fit into a size. */
function bodyOf(bytes: number, lines: number, seed = 1): Buffer {
  const messages: Message[] = [USER];
  for (let i = 0, size = 0; size < bytes; i++) {
    const text = serverLog(lines, seed * 1_000 + i);
    messages.push(...toolTurn(`c${i}`, 'bash', { command: `run ${i}` }, text));
    size += text.length;
  }
  return chatBody(messages);
}

const SMALL = chatBody([USER, { role: 'user', content: 'Go on. '.repeat(240) }]);

async function started(flags: readonly string[] = []): Promise<MeasuredProcess> {
  const upstream: FakeUpstream = await startUpstream((_, res) => {
    upstream.requests.length = 0; // the bodies would fill the memory of this process
    json(res, 200, { model: 'gpt-4o', usage: USAGE, choices: [{ message: { role: 'assistant', content: 'Done.' } }] });
  });
  return startMeasuredProcess(`${upstream.url}/v1`, flags);
}

/** Kilobytes per request, its bill included, of a body that was sent several times before. */
async function kilobytesOf(server: MeasuredProcess, body: Buffer, before: number): Promise<number> {
  const reader = new (sqliteDriver())(server.dbPath, { readonly: true });
  const billed = reader.prepare<[], number>('SELECT count(*) FROM ledger_turn').pluck();
  const send = async (requests: number): Promise<void> => {
    const all = (billed.get() ?? 0) + requests;
    for (let i = 0; i < requests; i++) await server.send(body);
    await until(() => billed.get() === all);
  };
  const requests = 60;
  await send(before);
  const bytes = await server.allocated(() => send(requests));
  reader.close();
  return bytes / requests / 1024;
}

/** Sends small requests on some connections. */
async function sendSmall(server: MeasuredProcess, requests: number): Promise<void> {
  let left = requests;
  const connection = async (): Promise<void> => {
    while (left-- > 0) await server.send(SMALL);
  };
  await Promise.all(Array.from({ length: 16 }, connection));
}

it('few functions are optimised for the first 3,000 requests', async () => {
  const server = await started(['--trace-opt']);
  await server.send(SMALL);
  const before = server.optimised;
  await sendSmall(server, 3_000);
  // reached: 305; the aim is 300, and http-proxy-middleware takes 177
  expect(server.optimised - before).toBeGreaterThan(50);
  expect(server.optimised - before).toBeLessThanOrEqual(340);
});

describe('the memory of a server', () => {
  it('is little after 10,000 small requests', async () => {
    const server = await started();
    await sendSmall(server, 10_000);
    expect((await server.heap()) / MB).toBeLessThan(60); // reached: 39; the aim is 90
  });

  it('is allocated sparingly for requests that contain nothing new', async () => {
    const server = await started();
    // reached: 71, 78 and 122; the aims are 60, 80 and 120
    expect(await kilobytesOf(server, SMALL, 600)).toBeLessThan(80);
    expect(await kilobytesOf(server, bodyOf(200_000, 30), 200)).toBeLessThan(90);
    expect(await kilobytesOf(server, bodyOf(2_000_000, 400), 60)).toBeLessThan(140);
  });

  it('is released again after many large new bodies', async () => {
    const server = await started();
    await server.send(bodyOf(2_000, 5));
    const before = await server.heap();
    const bodies = Array.from({ length: 100 }, (_, i) => bodyOf(200_000, 200, i + 2));
    await Promise.all(
      [0, 1, 2, 3].map(async (connection) => {
        for (const [i, body] of bodies.entries()) if (i % 4 === connection) await server.send(body);
      }),
    );
    await until(async () => (await server.heap()) - before < 20 * MB);
  });
});
