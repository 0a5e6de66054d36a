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

async function started(): Promise<MeasuredProcess> {
  const upstream: FakeUpstream = await startUpstream((_, res) => {
    upstream.requests.length = 0; // the bodies would fill the memory of this process
    json(res, 200, { model: 'gpt-4o', usage: USAGE, choices: [{ message: { role: 'assistant', content: 'Done.' } }] });
  });
  return startMeasuredProcess(`${upstream.url}/v1`);
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

describe('the memory of a server', () => {
  it('is allocated sparingly for requests that contain nothing new', async () => {
    const server = await started();
    const small = chatBody([USER, { role: 'user', content: 'Go on. '.repeat(240) }]);
    // before recall and facts were made leaner and now, side by side on a busy machine: 194 and 178, 235 and 192
    expect(await kilobytesOf(server, small, 600)).toBeLessThan(190);
    expect(await kilobytesOf(server, bodyOf(200_000, 30), 200)).toBeLessThan(215);
    expect(await kilobytesOf(server, bodyOf(2_000_000, 400), 60)).toBeLessThan(260);
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
