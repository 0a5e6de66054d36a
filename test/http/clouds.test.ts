import { describe, expect, it } from 'vitest';
import { routeOf } from '../../src/wires/providers/all.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../helpers/messages.ts';
import { settingsOf, startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { send, type WireAnswer } from '../helpers/wire.ts';

const LOG = serverLog(400);
const CLAUDE = messagesBody(oneCall(LOG), { anthropic_version: 'vertex-2023-10-16' });
const CHAT = chatBody(oneResult(LOG));
const GEMINI = Buffer.from(
  JSON.stringify({
    contents: [
      { role: 'user', parts: [{ text: 'Why does the checkout fail?' }] },
      { role: 'model', parts: [{ functionCall: { name: 'run_shell_command', args: { command: 'npm start' } } }] },
      { role: 'user', parts: [{ functionResponse: { name: 'run_shell_command', response: { output: LOG } } }] },
    ],
  }),
);
const RESPONSES = Buffer.from(
  JSON.stringify({
    model: 'gpt-test',
    input: [
      { type: 'message', role: 'user', content: 'Why does the checkout fail?' },
      { type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"command":"npm start"}' },
      { type: 'function_call_output', call_id: 'c1', output: LOG },
    ],
  }),
);
const PROJECT = '/v1/projects/p-1/locations/us-east5';

interface Clouds {
  readonly proxy: TestProxy;
  readonly cloud: FakeUpstream;
  /** The upstream of everything that is no cloud's. */
  readonly others: FakeUpstream;
}

/** A proxy whose clouds are all one fake, behind the base path of a gateway. */
async function clouds(...keys: readonly string[]): Promise<Clouds> {
  const cloud = await startUpstream((_request, res) => json(res, 200, {}));
  const others = await startUpstream((_request, res) => json(res, 200, {}));
  const env = Object.fromEntries(keys.map((key) => [key, `http://127.0.0.1:${cloud.port}/gateway`]));
  return { cloud, others, proxy: await startProxy(others, { env }) };
}

function post(proxy: TestProxy, path: string, body: Buffer, headers: Record<string, string> = {}): Promise<WireAnswer> {
  const fields = { 'content-type': 'application/json', authorization: 'Bearer token-of-the-cloud', ...headers };
  return send(proxy.url, { path, method: 'POST', headers: fields, body });
}

describe('Vertex AI', () => {
  it.each([
    [`${PROJECT}/publishers/anthropic/models/claude-sonnet-4-5@20250929:rawPredict`, CLAUDE, 'messages'],
    [`${PROJECT}/publishers/anthropic/models/claude-opus-4-6%4020260101%3AstreamRawPredict?a=%2F`, CLAUDE, 'messages'],
    [`/v1beta1/projects/p/locations/global/publishers/google/models/gemini-test:generateContent`, GEMINI, 'gemini'],
    [`${PROJECT}/publishers/google/models/gemini-test:streamGenerateContent?alt=sse`, GEMINI, 'gemini'],
    [`${PROJECT}/endpoints/openapi/chat/completions`, CHAT, 'chat'],
  ])('gets %s pruned, under the whole path as it was spelled', async (path, body, wire) => {
    const { proxy, cloud, others } = await clouds('MCP_PRUNER_VERTEX_URL');
    await post(proxy, path, body);
    expect(cloud.last.url).toBe(`/gateway${path}`);
    expect(cloud.last.headers.authorization).toBe('Bearer token-of-the-cloud');
    expect(cloud.last.body.length).toBeLessThan(body.length / 2);
    expect(cloud.last.body.toString()).toContain('PRUN');
    expect(others.requests).toEqual([]);
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ wire, cloud: 'vertex', pruned: 1 });
    if (wire !== 'chat') expect(line?.model).toMatch(/^(?:claude-(?:sonnet|opus)-4-\d@20\d{6}|gemini-test)$/);
  });

  it('counts the tokens of the same body that it was sent before', async () => {
    const { proxy, cloud } = await clouds('MCP_PRUNER_VERTEX_URL');
    const model = `${PROJECT}/publishers/anthropic/models`;
    const body = messagesBody(oneCall(LOG));
    await post(proxy, `${model}/claude-test:rawPredict`, body);
    const sent = cloud.last.body;
    await post(proxy, `${model}/count-tokens:rawPredict`, body);
    expect(cloud.requests).toHaveLength(2);
    expect(cloud.last.body.equals(sent)).toBe(true);
  });

  it.each([
    `${PROJECT}/publishers/mistralai/models/codestral:rawPredict`,
    `${PROJECT}/publishers/google/models/text-embedding-005:predict`,
    '/v1/projects/p/locations',
  ])('gets other publishers and operations byte for byte, and no other provider does: %s', async (path) => {
    const { proxy, cloud, others } = await clouds('MCP_PRUNER_VERTEX_URL');
    await post(proxy, path, CLAUDE);
    expect([cloud.last.url, cloud.last.body.equals(CLAUDE)]).toEqual([`/gateway${path}`, true]);
    expect(others.requests).toEqual([]);
  });

  it.each([
    [`${PROJECT}/publishers/google/models/m:generateContent`, 'https://us-east5-aiplatform.googleapis.com'],
    ['/v1/projects/p/locations/global/publishers/google/models/m:x', 'https://aiplatform.googleapis.com'],
    ['/v1/projects/p/locations/eu/publishers/google/models/m:x', 'https://aiplatform.eu.rep.googleapis.com'],
    ['/v1beta1/projects/p/locations/europe-west4/endpoints/7:x', 'https://europe-west4-aiplatform.googleapis.com'],
    ['/v1beta1/publishers/google/models/m:generateContent', 'https://aiplatform.googleapis.com'],
    ['/v1/projects/p/locations/evil.example/x', null],
    ['/v1/projects/p/locations/evil.example%2Fx/y', null],
    ['/v1/projects/p/locations/us-east5%00/y', null],
  ])('has the host of the location in %s', (url, baseUrl) => {
    const route = routeOf({ method: 'POST', url, headers: {} }, settingsOf({}));
    expect(route).toMatchObject({ provider: { name: 'vertex' }, baseUrl, rest: url });
  });

  it('is not reached if the path has no valid location, and the answer names the required setting', async () => {
    const { proxy, others } = await clouds();
    const answer = await post(proxy, '/v1/projects/p/locations/evil.example/x', CLAUDE);
    expect([answer.status, answer.body.toString()]).toEqual([404, expect.stringContaining('MCP_PRUNER_VERTEX_URL')]);
    expect(others.requests).toEqual([]);
  });
});

describe('an OpenAI project path', () => {
  it.each(['/v1/projects', '/v1/projects/proj_1/groups?limit=2', '/v1/projects/proj_1/roles/r/locations'])(
    'is not mistaken for a Vertex AI path: %s',
    async (path) => {
      const { proxy, cloud, others } = await clouds('MCP_PRUNER_VERTEX_URL');
      await post(proxy, path, CHAT);
      expect([others.last.url, others.last.body.equals(CHAT)]).toEqual([path, true]);
      expect(cloud.requests).toEqual([]);
    },
  );
});

describe('Azure or Foundry', () => {
  it.each([
    ['/openai/deployments/my-gpt-5/chat/completions?api-version=2025-01-01-preview', CHAT, 'chat', 'my-gpt-5'],
    ['/openai/v1/chat/completions', CHAT, 'chat', 'gpt-test'],
    ['/openai/v1/responses', RESPONSES, 'responses', 'gpt-test'],
    ['/openai/responses?api-version=2025-04-01-preview', RESPONSES, 'responses', 'gpt-test'],
    ['/anthropic/v1/messages', CLAUDE, 'messages', 'claude-test'],
  ])('gets %s pruned, with its key', async (path, body, wire, model) => {
    const { proxy, cloud } = await clouds('MCP_PRUNER_AZURE_URL');
    await post(proxy, path, body, { 'api-key': 'key-of-azure' });
    expect([cloud.last.url, cloud.last.headers['api-key']]).toEqual([`/gateway${path}`, 'key-of-azure']);
    expect(cloud.last.body.length).toBeLessThan(body.length / 2);
    expect((await proxy.requestLines(1))[0]).toMatchObject({ wire, cloud: 'azure', model, pruned: 1 });
  });

  it('gets everything else below its paths byte for byte', async () => {
    const { proxy, cloud } = await clouds('MCP_PRUNER_AZURE_URL');
    await post(proxy, '/openai/deployments/d/embeddings?api-version=1', CHAT);
    expect([cloud.last.url, cloud.last.body.equals(CHAT)]).toEqual([
      '/gateway/openai/deployments/d/embeddings?api-version=1',
      true,
    ]);
  });

  it('has no default address: without a configured one the answer is a 404 that names the setting', async () => {
    const { proxy, others } = await clouds();
    const answer = await post(proxy, '/openai/deployments/d/chat/completions?api-version=1', CHAT);
    expect([answer.status, answer.body.toString()]).toEqual([404, expect.stringContaining('MCP_PRUNER_AZURE_URL')]);
    expect(others.requests).toEqual([]);
  });
});

describe('a path with a prefix', () => {
  it.each([
    ['/api/v1/chat/completions?a=1', CHAT, '/v1/chat/completions?a=1'],
    ['/gateway/v1/team/v1/responses', RESPONSES, '/v1/responses'],
    ['/openai/v1/chat/completions', CHAT, '/v1/chat/completions'],
    ['/anthropic/v1/messages?beta=true', CLAUDE, '/v1/messages?beta=true'],
  ])('is stripped of its prefix, and is pruned: %s', async (path, body, url) => {
    const { proxy, others } = await clouds();
    await post(proxy, path, body);
    expect(others.last.url).toBe(url);
    expect(others.last.body.length).toBeLessThan(body.length / 2);
  });

  it('is logged once for each prefix', async () => {
    const { proxy, others } = await clouds();
    for (const path of ['/api/v1/models', '/api/v1/embeddings', '/x/v1/chat/completions'])
      await post(proxy, path, CHAT);
    expect(others.requests.map(({ url }) => url)).toEqual(['/v1/models', '/v1/embeddings', '/v1/chat/completions']);
    const warned = (await proxy.logLines()).filter(({ prefix }) => prefix !== undefined);
    expect(warned.map(({ level, prefix }) => [level, prefix])).toEqual([
      ['warn', '/api'],
      ['warn', '/x'],
    ]);
  });

  it.each(['/api/v1/widgets', '/api/chat/completion', '/rpc/v1/models', '/nothing'])(
    'gets a 404 if it ends in no known route: %s',
    async (path) => {
      const { proxy, others } = await clouds();
      expect((await post(proxy, path, CHAT)).status).toBe(404);
      expect(others.requests).toEqual([]);
    },
  );

  it('of Ollama’s own API reaches the origin of the upstream unchanged', async () => {
    const { proxy, others } = await clouds();
    await post(proxy, '/api/chat', CHAT);
    expect([others.last.url, others.last.body.equals(CHAT)]).toEqual(['/api/chat', true]);
  });
});

describe('Bedrock', () => {
  const INVOKE = '/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke';
  const BODY = messagesBody(oneCall(LOG), { anthropic_version: 'bedrock-2023-05-31', model: undefined });

  it('gets requests with an API key pruned, with the path spelled as received', async () => {
    const { proxy, cloud, others } = await clouds('MCP_PRUNER_BEDROCK_URL');
    await post(proxy, INVOKE, BODY);
    expect([cloud.last.url, cloud.last.headers.authorization]).toEqual([
      `/gateway${INVOKE}`,
      'Bearer token-of-the-cloud',
    ]);
    expect(cloud.last.body.length).toBeLessThan(BODY.length / 2);
    expect(others.requests).toEqual([]);
    const model = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0';
    expect((await proxy.requestLines(1))[0]).toMatchObject({ wire: 'messages', cloud: 'bedrock', model, pruned: 1 });
  });

  it.each(['/model/meta.llama3-70b-instruct-v1%3A0/invoke', '/guardrail/g1/version/1/apply', `${INVOKE}-later`])(
    'gets requests for other models and operations byte for byte: %s',
    async (path) => {
      const { proxy, cloud } = await clouds('MCP_PRUNER_BEDROCK_URL');
      await post(proxy, path, BODY);
      expect([cloud.last.url, cloud.last.body.equals(BODY)]).toEqual([`/gateway${path}`, true]);
    },
  );

  it.each([
    [INVOKE, 'Bearer key', 'eu-west-1', 'https://bedrock-runtime.eu-west-1.amazonaws.com'],
    [INVOKE, signature('us-gov-west-1', 'bedrock'), 'eu-west-1', 'https://bedrock-runtime.us-gov-west-1.amazonaws.com'],
    [
      '/anthropic/v1/messages',
      signature('us-east-1', 'bedrock-mantle'),
      '',
      'https://bedrock-mantle.us-east-1.api.aws',
    ],
    ['/inference-profiles?type=SYSTEM_DEFINED', 'Bearer key', 'us-west-2', 'https://bedrock.us-west-2.amazonaws.com'],
    ['/anthropic/v1/messages', 'Bearer ABSKexample', 'us-west-2', 'https://bedrock-mantle.us-west-2.api.aws'],
    [INVOKE, signature('evil.example/x', 'bedrock'), '', null],
    [INVOKE, signature('evil.example', 'bedrock'), '', null],
    [INVOKE, 'Bearer key', '', null],
  ])('has the host of its region: %s, %s, %s', (url, authorization, region, baseUrl) => {
    const settings = settingsOf(region === '' ? {} : { AWS_REGION: region });
    const route = routeOf({ method: 'POST', url, headers: { authorization } }, settings);
    expect(route).toMatchObject({ provider: { name: 'bedrock' }, baseUrl, rest: url });
  });
});

function signature(region: string, service: string): string {
  const credential = `AKIDEXAMPLE/20261124/${region}/${service}/aws4_request`;
  return `AWS4-HMAC-SHA256 Credential=${credential}, SignedHeaders=host;x-amz-date, Signature=${'0'.repeat(64)}`;
}
