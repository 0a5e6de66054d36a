import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/app/store.ts';
import { edition } from '../../src/edition.ts';
import { type AwsKey, awsFrame, isSignedBy, signedHeaders } from '../helpers/aws.ts';
import { type Answer, type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { settingsOf, startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { send, type WireAnswer } from '../helpers/wire.ts';

const OWN: AwsKey = { id: 'AKIDOWN', secret: 'own/secret+key' };
const OTHER: AwsKey = { id: 'AKIDOTHER', secret: 'another secret' };
const ID = 'us.anthropic.claude-sonnet-4-5-20250929-v1%3A0';
const MODEL = decodeURIComponent(ID);
const INVOKE = `/model/${ID}/invoke`;
const TOKEN = 'x-amz-security-token';
const LOG = serverLog(400);
const CLAUDE = messagesBody(oneCall(LOG), { anthropic_version: 'bedrock-2023-05-31', model: undefined });
const CONVERSE = Buffer.from(
  JSON.stringify({
    messages: [
      { role: 'user', content: [{ text: 'Why does the checkout fail for some customers?' }] },
      { role: 'assistant', content: [{ toolUse: { toolUseId: 't1', name: 'bash', input: { command: 'npm start' } } }] },
      { role: 'user', content: [{ toolResult: { toolUseId: 't1', content: [{ text: LOG }], status: 'success' } }] },
    ],
    system: [{ text: 'You are a careful engineer.' }],
    toolConfig: { tools: [{ toolSpec: { name: 'bash', inputSchema: { json: {} } } }] },
  }),
);

interface Cloud {
  readonly proxy: TestProxy;
  readonly upstream: FakeUpstream;
  /** Host and port of the proxy: what clients sign. */
  readonly host: string;
}

async function bedrock(
  env: Record<string, string> = {},
  answer: Answer = (_req, res) => json(res, 200, {}),
): Promise<Cloud> {
  const upstream = await startUpstream(answer);
  const url = `http://127.0.0.1:${upstream.port}`;
  const proxy = await startProxy(await startUpstream(), { env: { MCP_PRUNER_BEDROCK_URL: url, ...env } });
  return { proxy, upstream, host: new URL(proxy.url).host };
}

const CREDENTIALS = { AWS_ACCESS_KEY_ID: OWN.id, AWS_SECRET_ACCESS_KEY: OWN.secret };

function post({ proxy }: Cloud, path: string, body: Buffer, headers: Record<string, string>): Promise<WireAnswer> {
  return send(proxy.url, { path, method: 'POST', headers, body });
}

const bearer = { authorization: 'Bearer bedrock-api-key-x', 'content-type': 'application/json' };

describe('a request to Bedrock that its client signed', () => {
  it.each([
    { region: 'us-east-1', path: INVOKE },
    { region: 'eu-central-1', path: `${INVOKE}-with-response-stream` },
    {
      region: 'us-west-2',
      path: `/model/arn%3Aaws%3Abedrock%3Aus-west-2%3A1%3Aapplication-inference-profile%2Fx/invoke`,
    },
  ])(
    'with the proxy’s own credentials is pruned and signed again, in its own region: $path',
    async ({ region, path }) => {
      const cloud = await bedrock(CREDENTIALS);
      const more = { 'x-amzn-bedrock-trace': 'ENABLED' };
      await post(cloud, path, CLAUDE, signedHeaders(path, CLAUDE, cloud.host, OWN, { region, more }));
      const { last } = cloud.upstream;
      expect(last.body.length).toBeLessThan(CLAUDE.length / 2);
      expect(last.headers.host).toBe(`127.0.0.1:${cloud.upstream.port}`);
      expect(last.headers['x-amzn-bedrock-trace']).toBe('ENABLED');
      expect(last.headers.authorization).toContain('x-amzn-bedrock-trace');
      expect(isSignedBy(last, OWN, { region })).toBe(true);
      expect((await cloud.proxy.requestLines(1))[0]).toMatchObject({ cloud: 'bedrock', pruned: 1 });
    },
  );

  it('with temporary credentials keeps their token', async () => {
    const cloud = await bedrock({ ...CREDENTIALS, AWS_SESSION_TOKEN: 'session' });
    const more = { 'x-amz-security-token': 'session' };
    await post(cloud, INVOKE, CLAUDE, signedHeaders(INVOKE, CLAUDE, cloud.host, OWN, { more }));
    const { last } = cloud.upstream;
    expect([last.headers['x-amz-security-token'], isSignedBy(last, OWN)]).toEqual(['session', true]);
    expect(last.body.length).toBeLessThan(CLAUDE.length / 2);
  });

  it.each<[string, (host: string) => Record<string, string>, Record<string, string>]>([
    ['another key', (host) => signedHeaders(INVOKE, CLAUDE, host, OTHER), CREDENTIALS],
    ['no credentials here', (host) => signedHeaders(INVOKE, CLAUDE, host, OWN), {}],
    ['a wrong secret', (host) => signedHeaders(INVOKE, CLAUDE, host, { ...OTHER, id: OWN.id }), CREDENTIALS],
    ['another body', (host) => signedHeaders(INVOKE, Buffer.from('{}'), host, OWN), CREDENTIALS],
    [
      'an old date',
      (host) => signedHeaders(INVOKE, CLAUDE, host, OWN, { at: new Date(Date.now() - 3_600_000) }),
      CREDENTIALS,
    ],
    ['a broken signature', () => ({ authorization: 'AWS4-HMAC-SHA256 nonsense' }), CREDENTIALS],
  ])(
    'with %s is forwarded unchanged, every signed field included, with the reason in the log',
    async (_name, sign, env) => {
      const cloud = await bedrock(env);
      const more = { 'x-mcp-pruner-project': 'signed' };
      const headers = sign(cloud.host);
      const signed = /SignedHeaders=([^,]+)/.exec(headers.authorization ?? '')?.[1]?.split(';') ?? [];
      await post(cloud, INVOKE, CLAUDE, { ...more, ...headers });
      const { last } = cloud.upstream;
      expect(last.body.equals(CLAUDE)).toBe(true);
      expect(last.headers.authorization).toBe(headers.authorization);
      expect(signed.map((name) => last.headers[name])).toEqual(signed.map((name) => headers[name]));
      expect(last.headers['x-mcp-pruner-project']).toBeUndefined();
      expect((await cloud.proxy.requestLines(1))[0]).toMatchObject({ fallbacks: ['signed_by_client'] });
      const health = JSON.parse((await send(`${cloud.proxy.url}/health`)).body.toString());
      expect(health.not_understood).toEqual({ signed_by_client: 1 });
    },
  );

  it('keeps its signed x-mcp-pruner fields, and its host on routes that are not pruned', async () => {
    const cloud = await bedrock(CREDENTIALS);
    for (const path of [INVOKE, '/guardrail/g/version/1/apply']) {
      const more = { 'x-mcp-pruner-project': 'signed' };
      const headers = signedHeaders(path, CLAUDE, cloud.host, OTHER, { more });
      await post(cloud, path, CLAUDE, headers);
      expect(isSignedBy(cloud.upstream.last, OTHER)).toBe(true);
      expect(cloud.upstream.last.headers.host).toBe(cloud.host);
    }
  });

  it('is signed again for Mantle on Mantle’s path', async () => {
    const cloud = await bedrock(CREDENTIALS);
    const path = '/anthropic/v1/messages';
    const service = 'bedrock-mantle';
    await post(cloud, path, CLAUDE, signedHeaders(path, CLAUDE, cloud.host, OWN, { service }));
    expect(cloud.upstream.last.body.length).toBeLessThan(CLAUDE.length / 2);
    expect(isSignedBy(cloud.upstream.last, OWN, { service })).toBe(true);
  });
});

describe('a request to Bedrock without a signature', () => {
  it('is forwarded unchanged if it has no key either', async () => {
    const cloud = await bedrock(CREDENTIALS);
    await post(cloud, INVOKE, CLAUDE, { 'content-type': 'application/json' });
    expect(cloud.upstream.last.body.equals(CLAUDE)).toBe(true);
    expect(cloud.upstream.last.headers.authorization).toBeUndefined();
    expect((await cloud.proxy.requestLines(1))[0]).toMatchObject({ fallbacks: ['not_signed'] });
  });

  it("is signed with the proxy's credentials for every client if that is switched on", async () => {
    const cloud = await bedrock({ ...CREDENTIALS, MCP_PRUNER_BEDROCK_SIGN: 'all', AWS_REGION: 'eu-west-1' });
    await post(cloud, INVOKE, CLAUDE, { 'content-type': 'application/json' });
    expect(isSignedBy(cloud.upstream.last, OWN, { region: 'eu-west-1' })).toBe(true);
    await post(cloud, INVOKE, CLAUDE, signedHeaders(INVOKE, CLAUDE, cloud.host, OTHER, { region: 'us-east-2' }));
    // the region that is set wins over the client's
    expect(isSignedBy(cloud.upstream.last, OWN, { region: 'eu-west-1' })).toBe(true);
    expect(cloud.upstream.last.body.length).toBeLessThan(CLAUDE.length / 2);
    await post(cloud, INVOKE, CLAUDE, bearer);
    expect(cloud.upstream.last.headers.authorization).toBe(bearer.authorization);
  });

  it.each([
    ['s3', false],
    ['sts', false],
    ['aws4_request', false],
    ['bedrock', true],
    ['bedrock-mantle', true],
  ])('is never signed with them for another service than Bedrock: %s', async (service, isSigned) => {
    const cloud = await bedrock({ ...CREDENTIALS, MCP_PRUNER_BEDROCK_SIGN: 'all', AWS_REGION: 'eu-west-1' });
    const headers = signedHeaders(INVOKE, CLAUDE, cloud.host, OTHER, { service });
    await post(cloud, INVOKE, CLAUDE, headers);
    const { last } = cloud.upstream;
    expect(isSignedBy(last, OWN, { region: 'eu-west-1', service })).toBe(isSigned);
    if (!isSigned) expect(last.headers.authorization).toBe(headers.authorization);
  });
});

it('errors from Bedrock, which repeat signed headers, do not reveal the session token of the proxy', async () => {
  const cloud = await bedrock({ ...CREDENTIALS, AWS_SESSION_TOKEN: 'FwoGZXIvYXdz-session' }, ({ headers }, res) =>
    json(res, 403, { message: `The Canonical String should have been x-amz-security-token:${headers[TOKEN]}` }),
  );
  const more = { [TOKEN]: 'FwoGZXIvYXdz-session' };
  const answer = await post(cloud, INVOKE, CLAUDE, signedHeaders(INVOKE, CLAUDE, cloud.host, OWN, { more }));
  expect(cloud.upstream.last.headers[TOKEN]).toBe('FwoGZXIvYXdz-session');
  expect(answer.body.toString()).toContain(`x-amz-security-token:${'*'.repeat(20)}"`);
});

const EVENTS = [
  { type: 'message_start', message: { id: 'm', usage: { input_tokens: 30, cache_read_input_tokens: 900 } } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Done.' } },
  { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 7 } },
];
const CHUNKS = EVENTS.map((event) =>
  awsFrame('chunk', { bytes: Buffer.from(JSON.stringify(event)).toString('base64') }),
);
const METADATA = awsFrame('metadata', {
  usage: { inputTokens: 30, outputTokens: 7, totalTokens: 937, cacheReadInputTokens: 900 },
  metrics: { latencyMs: 1 },
});
const TEXT = awsFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: '"usage":{"inputTokens":1}' } });

describe('Bedrock answers', () => {
  it.each([
    [`/model/${ID}/invoke-with-response-stream`, CLAUDE, 'messages', CHUNKS],
    [`/model/${ID}/converse-stream`, CONVERSE, 'converse', [TEXT, METADATA]],
  ])('to %s pass frame by frame, and their usage is read', async (path, body, wire, frames) => {
    const bytes = Buffer.concat(frames);
    const answer: Answer = async (_request, res: ServerResponse) => {
      res.writeHead(200, { 'content-type': 'application/vnd.amazon.eventstream' });
      // in pieces that end anywhere
      for (let at = 0; at < bytes.length; at += 37) {
        res.write(bytes.subarray(at, at + 37));
        await new Promise((resume) => setImmediate(resume));
      }
      res.end();
    };
    const cloud = await bedrock({}, answer);
    const got = await post(cloud, path, body, bearer);
    expect(got.headers['content-type']).toBe('application/vnd.amazon.eventstream');
    expect(got.body.equals(bytes)).toBe(true);
    expect(cloud.upstream.last.body.length).toBeLessThan(body.length / 2);
    const usage = { promptTokens: 930, cachedTokens: 900, completionTokens: 7 };
    expect((await cloud.proxy.requestLines(1))[0]).toMatchObject({
      wire,
      model: MODEL,
      stream: true,
      pruned: 1,
      ...usage,
    });
  });

  it('are billed for Bedrock and for the model in the path', async () => {
    const usage = { input_tokens: 1_000_000, output_tokens: 0 };
    const cloud = await bedrock({}, (_req, res) => json(res, 200, { type: 'message', usage }));
    await post(cloud, INVOKE, CLAUDE, bearer);
    const [line] = await cloud.proxy.requestLines(1);
    await cloud.proxy.stop();
    const store = await openStore(settingsOf({ MCP_PRUNER_DB_PATH: cloud.proxy.dbPath }), {
      edition,
      readonly: true,
      clock: { nowMs: () => Date.now() },
    });
    const turns = await store.ledger.turns({ conversationId: String(line?.conversationId), limit: 10 });
    await store.close();
    expect(turns).toMatchObject([{ cloud: 'bedrock', wire: 'messages', model: MODEL }]);
    expect(turns[0]?.dollars).toBeGreaterThan(2);
  });

  it('in JSON have their usage recorded as well', async () => {
    const usage = { inputTokens: 5, outputTokens: 2, totalTokens: 7 };
    const cloud = await bedrock({}, (_req, res) => json(res, 200, { output: {}, usage, metrics: { latencyMs: 3 } }));
    await post(cloud, `/model/${ID}/converse`, CONVERSE, bearer);
    expect((await cloud.proxy.requestLines(1))[0]).toMatchObject({
      promptTokens: 5,
      completionTokens: 2,
      model: MODEL,
    });
  });
});

describe('token counting on Bedrock', () => {
  const count = `/model/${ID}/count-tokens`;

  it('uses the same body that was sent to InvokeModel', async () => {
    const cloud = await bedrock();
    await post(cloud, INVOKE, CLAUDE, bearer);
    const sent = cloud.upstream.last.body;
    const body = JSON.stringify({ input: { invokeModel: { body: CLAUDE.toString('base64') } } });
    await post(cloud, count, Buffer.from(body), bearer);
    const counted = JSON.parse(cloud.upstream.last.body.toString()).input.invokeModel.body;
    expect(Buffer.from(counted, 'base64').equals(sent)).toBe(true);
  });

  it('uses the same body that was sent to Converse', async () => {
    const cloud = await bedrock();
    await post(cloud, `/model/${ID}/converse`, CONVERSE, bearer);
    const sent = cloud.upstream.last.body.toString();
    await post(cloud, count, Buffer.from(`{"input": {"converse":${CONVERSE}}, "x": 1.0}`), bearer);
    expect(cloud.upstream.last.body.toString()).toBe(`{"input": {"converse":${sent}}, "x": 1.0}`);
  });

  it.each(['{"input":{}}', 'no JSON', '{"input":{"invokeModel":{"body":"%%"}}}'])(
    'forwards %s unchanged',
    async (body) => {
      const cloud = await bedrock();
      await post(cloud, count, Buffer.from(body), bearer);
      expect(cloud.upstream.last.body.toString()).toBe(body);
    },
  );
});
