import { Agent } from 'node:http';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { type Answer, event, json } from '../../../test/helpers/fake-upstream.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { send } from '../../../test/helpers/wire.ts';
import { zstdStored } from '../../../test/helpers/zstd-frame.ts';
import type { Stage } from '../../page/test/stage.ts';
import { keys, onFile, type Place, startTeam } from './team.ts';

/** Each answer costs $2.25, and each key may use $0.50 a month. */
const USAGE = { prompt_tokens: 1_000_000, completion_tokens: 100_000 };
const ANSWER = {
  ...{ id: 'c', object: 'chat.completion', model: 'gpt-5', usage: USAGE },
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
};
const LARGE_BODY_BYTES = 1_000_000;
const reported: Answer = (_request, res) => json(res, 200, ANSWER);

interface Way {
  readonly by: string;
  readonly path?: string;
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly project?: string;
  readonly body?: Buffer | string;
  readonly answer?: Answer;
  readonly agent?: Agent;
  /** Of a refusal; default: 403. */
  readonly status?: number;
}

const chat = (more: object = {}): Buffer => chatBody(oneResult('short'), { model: 'gpt-5', ...more });
const many = oneResult('short').concat(Array.from({ length: 20_000 }, () => ({ role: 'user', content: 'x' })));

/** Requests that each cost more than the budget of their key. */
const ways: readonly Way[] = [
  { by: 'ordinary requests' },
  { by: 'requests with large results', body: chatBody(oneResult(serverLog(400)), { model: 'gpt-5' }) },
  { by: 'requests that are not to be pruned', headers: { 'x-mcp-pruner': 'off' } },
  { by: 'pages of other origins', headers: { origin: 'https://elsewhere.example' } },
  { by: 'a project that is not pruned', project: 'unpruned' },
  { by: 'more messages than are read', body: chatBody(many, { model: 'gpt-5' }) },
  { by: 'bodies above the limit', body: chat({ filler: 'x'.repeat(LARGE_BODY_BYTES + 1) }) },
  { by: 'bodies that are not understood', body: '{"model":"gpt-5","messages":7' },
  { by: 'an unknown encoding', headers: { 'content-encoding': 'lzma' } },
  { by: 'a compressed body', headers: { 'content-encoding': 'gzip' }, body: gzipSync(chat()) },
  { by: 'the older completions', path: '/v1/completions', body: '{"model":"gpt-5","prompt":"x"}' },
  { by: 'embeddings', path: '/v1/embeddings', body: '{"model":"gpt-5","input":"x"}' },
  { by: 'a slash at the end of the path', path: '/v1/chat/completions/' },
  { by: 'escaped letters in the path', path: '/v1/chat/complet%69ons' },
  { by: 'PUT', method: 'PUT' },
  { by: 'an unknown path', path: '/v1/thinking' },
  { by: 'a model without a price', body: chat({ model: 'nobody-knows' }) },
  {
    by: 'answers in zstd',
    answer: (_request, res) =>
      res
        .writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'zstd' })
        .end(zstdStored(Buffer.from(JSON.stringify(ANSWER)))),
  },
  {
    by: 'streams without usage',
    body: chat({ stream: true }),
    answer: (_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let i = 0; i < 10_000; i++) res.write(event(' and so on'.repeat(4), 'gpt-5'));
      res.end('data: [DONE]\n\n');
    },
  },
  {
    by: 'streams that break off before their usage',
    body: chat({ stream: true }),
    answer: (_request, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      for (let i = 0; i < 10_000; i++) res.write(event(' and so on'.repeat(4), 'gpt-5'));
      res.write(event(' and'), () => res.destroy());
    },
  },
];

/** What no answer shows the cost of. */
const refused: readonly Way[] = [
  { by: 'batches', path: '/v1/batches', body: '{"input_file_id":"file_1","endpoint":"/v1/chat/completions"}' },
  { by: 'batches of messages', path: '/v1/messages/batches', body: '{"requests":[]}' },
  { by: 'batches with a slash', path: '/v1/batches/', body: '{}' },
  { by: 'responses in the background', path: '/v1/responses', body: '{"model":"gpt-5","background":true,"input":"x"}' },
  { by: 'an empty body', headers: { 'transfer-encoding': 'chunked' }, body: '', status: 400 },
];

async function openTeam(env: Place = {}): Promise<{ readonly stage: Stage; readonly place: Place }> {
  const place = await onFile();
  return { place, stage: await startTeam(place, { MCP_PRUNER_MAX_BODY_BYTES: String(LARGE_BODY_BYTES), ...env }) };
}

/** Requests of one kind with a key of their own. */
async function member({ stage, place }: Awaited<ReturnType<typeof openTeam>>, way: Way) {
  const { by, path = '/v1/chat/completions', method = 'POST', headers, project = 'web', body, agent } = way;
  const key = await keys(place, 'create', '--name', by, '--project', project, '--dollars-per-month', '0.5');
  return () =>
    send(`${stage.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', 'x-mcp-pruner-key': key, ...headers },
      body: body ?? chat(),
      ...(agent && { agent }),
    });
}

describe('a dollar budget', () => {
  it('is used up by one request that costs more, however the proxy handles the request', async () => {
    const team = await openTeam();
    const { upstream } = team.stage;
    expect((await run(['projects', 'set', 'unpruned', '--mode', 'off'], { env: team.place })).code).toBe(0);
    const forwarded: string[] = [];
    for (const way of ways) {
      const ask = await member(team, way);
      upstream.answer = way.answer ?? reported;
      const before = upstream.requests.length;
      await ask().catch(() => null); // a broken stream is an error of the client
      const { status, body } = await ask();
      const code = /key_dollars_used_up/.exec(body.toString())?.[0] ?? body.toString().slice(0, 80);
      forwarded.push(`${way.by}: ${upstream.requests.length - before} forwarded, then ${status} ${code}`);
    }
    expect(forwarded).toEqual(ways.map(({ by }) => `${by}: 1 forwarded, then 429 key_dollars_used_up`));
    // the bills are in the ledger: another process reads the same
    await until(async () => {
      const { out } = await run(['report', '--by', 'key', '--json'], { env: team.place, clock: { nowMs: Date.now } });
      const { rows } = JSON.parse(out) as { rows: { dollars: number }[] };
      return rows.length === ways.length && rows.every(({ dollars }) => dollars >= 0.5);
    });
  });

  it('rejects requests whose answer does not show their cost', async () => {
    const team = await openTeam();
    const statuses: string[] = [];
    for (const way of refused) statuses.push(`${way.by}: ${(await (await member(team, way))()).status}`);
    expect(statuses).toEqual(refused.map(({ by, status = 403 }) => `${by}: ${status}`));
    expect(team.stage.upstream.requests).toEqual([]);
  });

  it('asks the upstream only for encodings of answers that can be read', async () => {
    const team = await openTeam();
    const accepted = async (encodings: string) => {
      const ask = await member(team, { by: `accepts ${encodings}`, headers: { 'accept-encoding': encodings } });
      expect((await ask()).status).toBe(200);
      return team.stage.upstream.last.headers['accept-encoding'];
    };
    expect(await accepted('gzip, dcb;q=1.0,br;q=0.5, *')).toBe('gzip, br;q=0.5');
    expect(await accepted('lzma')).toBe('identity');
    expect(await accepted('gzip,  br')).toBe('gzip,  br');
  });

  it('applies even if pruning is disabled on the whole server', async () => {
    const team = await openTeam({ MCP_PRUNER_ENABLED: 'false' });
    team.stage.upstream.answer = reported;
    const ask = await member(team, { by: 'with the kill switch' });
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429]);
  });

  it('is enforced for sixty simultaneous requests', async () => {
    const team = await openTeam();
    team.stage.upstream.answer = reported;
    const ask = await member(team, { by: 'sixty at once' });
    const answers = await Promise.all(Array.from({ length: 60 }, ask));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(team.stage.upstream.requests).toHaveLength(1);
  });

  it('is not charged for free requests, and keeps the connection usable after a refusal', async () => {
    const team = await openTeam();
    team.stage.upstream.answer = (_request, res) => json(res, 200, { input_tokens: 5 });
    const paths = ['/v1/messages/count_tokens', '/v1/files', '/v1/moderations', '/v1/responses/resp_1/cancel'];
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    for (const path of paths) {
      const ask = await member(team, { by: path, path, headers: { 'anthropic-version': '2023-06-01' }, agent });
      for (let i = 0; i < 3; i++) expect([path, (await ask()).status]).toEqual([path, 200]);
    }
    const over = await member(team, {
      by: 'over',
      body: chat({ filler: 'x'.repeat(900_000), model: 'nobody-knows' }),
      agent,
    });
    expect([(await over()).status, (await over()).status]).toEqual([429, 429]);
    agent.destroy();
  });
});
