import { beforeAll, describe, expect, it } from 'vitest';
import { type FakeUpstream, json, type SeenRequest, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { importOf, installSuites } from './installed.ts';

type Resource = Readonly<Record<string, unknown>>;
type SdkClass = new (options: object) => Resource;

/** Values for all parameters that stand in a path, and for those that the SDKs read themselves. */
const PARAMS = {
  ...Object.fromEntries(
    ['thread', 'run', 'step', 'message', 'project', 'group', 'user', 'role', 'eval', 'vector_store', 'batch'].map(
      (name) => [`${name}_id`, `${name}/1 ä`],
    ),
  ),
  ...Object.fromEntries(
    ['container', 'conversation', 'item', 'response', 'skill', 'version', 'environment', 'session', 'agent'].map(
      (name) => [`${name}_id`, `${name}-1`],
    ),
  ),
  fine_tuned_model_checkpoint: 'ft:1',
  model: 'm',
  messages: [{ role: 'user', content: 'naïve "q" \u2028 \ud83d\ude00' }],
  max_tokens: 16,
  input: 'x',
  prompt: 'x',
  requests: [],
};

/** Helpers that wait for a state, or that call others. */
const HELPER = /^(?:constructor|_.*|.*(?:poll|wait|AndRun|stream|Stream|runTools|toolRunner|connect).*)$/i;

/** All methods of a client that send a request, as calls. */
function* callsOf(resource: Resource, seen = new Set<unknown>()): Generator<() => unknown> {
  if (seen.has(resource)) return;
  seen.add(resource);
  for (const member of Object.values(resource)) {
    if (typeof member === 'object' && member !== null && '_client' in member) yield* callsOf(member as Resource, seen);
  }
  if (!('_client' in resource)) return;
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(resource))) {
    const method = resource[name];
    if (typeof method === 'function' && !HELPER.test(name)) yield () => method.apply(resource, argumentsOf(method));
  }
}

/** Arguments by the names of the parameters: an id, the parameters, or options. */
function argumentsOf(method: object): unknown[] {
  const [, list = ''] = /\(([^)]*)\)/.exec(String(method)) ?? [];
  const names = list.split(',').map((name) => name.trim().split(/\W/)[0] ?? '');
  return names.filter(Boolean).map((name) => {
    if (name === 'options') return {};
    return /^(?:params|body|query)$/.test(name) ? PARAMS : `${name}-1`;
  });
}

/** Makes all calls one after the other. @returns what the upstream received */
async function requestsOf(Sdk: SdkClass, baseURL: string, upstream: FakeUpstream): Promise<SeenRequest[]> {
  const keys = { apiKey: 'k', adminAPIKey: 'admin', authToken: null };
  const client = new Sdk({ baseURL, ...keys, maxRetries: 0, timeout: 20_000, dangerouslyAllowBrowser: true });
  const before = upstream.requests.length;
  for (const call of callsOf(client)) {
    try {
      await call();
    } catch {
      // its parameters were not enough, or the empty answer was; both ways alike
    }
  }
  return upstream.requests.slice(before);
}

/** What must not differ: all but the fields of a connection, and the random boundaries of forms. */
function essence({ method, url, rawHeaders, body }: SeenRequest): unknown {
  const boundary = /boundary=([^;\n]+)/.exec(rawHeaders.join('\n'))?.[1] ?? '\0';
  const hop = /^(?:host|connection|via|content-length|transfer-encoding)$/i;
  const fields = rawHeaders.flatMap((name, i) =>
    i % 2 === 0 && !hop.test(name) ? [`${name}: ${rawHeaders[i + 1]}`] : [],
  );
  const text = body.toString('latin1');
  return { method, url, fields: fields.join('\n').replaceAll(boundary, ''), body: text.replaceAll(boundary, '') };
}

describe('every method of an SDK', () => {
  beforeAll(installSuites, 600_000);

  it.each([
    ['openai', 'openai/index.mjs', '/v1', 250],
    ['@anthropic-ai/sdk', '@anthropic-ai/sdk/index.mjs', '', 60],
  ])(
    'of %s reaches the upstream through the proxy exactly as it does directly',
    async (_, file, base, least) => {
      const { default: Sdk } = await importOf<{ default: SdkClass }>(file);
      const upstream = await startUpstream((_request, res) => json(res, 200, {}));
      const origin = `http://127.0.0.1:${upstream.port}`;
      const env = { MCP_PRUNER_UPSTREAM_URL: `${origin}/v1`, MCP_PRUNER_ANTHROPIC_URL: `${origin}/v1` };
      const proxy = await startProxy(upstream, { env });
      const direct = await requestsOf(Sdk, `${origin}${base}`, upstream);
      const proxied = await requestsOf(Sdk, `${proxy.url}${base}`, upstream);
      expect(direct.length).toBeGreaterThanOrEqual(least);
      expect(proxied.map((request) => essence(request))).toEqual(direct.map((request) => essence(request)));
    },
    600_000,
  );
});
