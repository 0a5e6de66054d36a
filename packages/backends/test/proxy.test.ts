import { describe, expect, it } from 'vitest';
import { chatBody, contentAt, messageBytes, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../../../test/helpers/markers.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { deepinfraEnv, pruneText } from './pruning.ts';
import {
  type FakeService,
  hang,
  type PruneCall,
  type RerankCall,
  type Respond,
  rerankAnswer,
  startReranker,
  startSwePruner,
} from './services.ts';

const LOG = serverLog(300);
/** Lines that nothing but a backend's word could make worth keeping. */
const CHOSEN = LOG.split('\n').slice(100, 110);
const chosen = (line: string): boolean => CHOSEN.includes(line);

const scoreChosen: Respond = (res, { body }) => {
  const { documents } = JSON.parse(body.toString('utf8')) as RerankCall;
  json(res, 200, rerankAnswer(documents.map((line) => (chosen(line) ? 0.98 : 0.001))));
};

const keepChosen: Respond = (res, { body }) => {
  const { code } = JSON.parse(body.toString('utf8')) as PruneCall;
  json(res, 200, { pruned_code: code.split('\n').filter(chosen).join('\n'), score: 0.7 });
};

interface Backend {
  readonly name: string;
  start(): Promise<FakeService>;
  env(service: FakeService): Readonly<Record<string, string>>;
  readonly answer: Respond;
  readonly reason: string;
}

const backends: readonly Backend[] = [
  {
    name: 'deepinfra',
    start: () => startReranker(() => 0.5),
    env: (service) => deepinfraEnv(service, { DEEPINFRA_MAX_DOCS: '500' }),
    answer: scoreChosen,
    reason: 'deepinfra_http_error',
  },
  {
    name: 'swe-pruner',
    start: () => startSwePruner(() => true),
    env: (service) => ({ MCP_PRUNER_SWE_PRUNER_URL: service.url }),
    answer: keepChosen,
    reason: 'swe_pruner_http_error',
  },
];

describe.each(backends)('the proxy with the backend $name', ({ name, start, env, answer, reason }) => {
  it('keeps what the backend finds relevant, marks every cut and recovers every line', async () => {
    const service = await start();
    service.respond = answer;
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: env(service) });
    await (await proxy.chat(chatBody(oneResult(LOG)))).text();
    const sent = contentAt(upstream.last.body, -1);
    for (const line of CHOSEN) expect(sent).toContain(line);
    expect(sent.length).toBeLessThan(0.5 * LOG.length);
    expect(markersIn(sent).length).toBeGreaterThan(0);
    expect(await rebuild(sent, proxy)).toBe(LOG);
    expect(service.calls).toHaveLength(1);
  });

  it('asks about a text once, and always forwards the same bytes, also after a restart', async () => {
    const service = await start();
    service.respond = answer;
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { ...env(service), MCP_PRUNER_CACHE_TTL_S: '0' } });
    const first = oneResult(LOG);
    await (await proxy.chat(chatBody(first))).text();
    const before = messageBytes(upstream.last.body);
    service.respond = (res) => json(res, 500, {});
    for (const restart of [false, true]) {
      if (restart) await proxy.restart();
      await (await proxy.chat(chatBody([...first, { role: 'user', content: 'Go on.' }]))).text();
      expect(upstream.last.body.subarray(0, before.length).equals(before)).toBe(true);
    }
    expect(service.calls).toHaveLength(1);
  });

  it('waits no longer than the time limit, and a late answer does not change sent bytes', async () => {
    const service = await start();
    service.respond = hang;
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: { ...env(service), MCP_PRUNER_TIMEOUT_MS: '2000' } });
    const first = oneResult(LOG);
    await (await proxy.chat(chatBody(first))).text(); // the service never answers
    const [line] = await proxy.requestLines(1);
    expect(line?.fallbacks).toEqual([reason]);
    const before = messageBytes(upstream.last.body);
    expect(markersIn(contentAt(upstream.last.body, -1)).length).toBeGreaterThan(0);
    await until(() => service.calls[0]?.gone.aborted);

    service.respond = answer;
    for (const restart of [false, true]) {
      if (restart) await proxy.restart();
      const next = [...first, ...toolTurn('call_2', 'bash', { command: 'date' }, 'Thu')];
      await (await proxy.chat(chatBody(next))).text();
      expect(upstream.last.body.subarray(0, before.length).equals(before)).toBe(true);
    }
    expect(service.calls).toHaveLength(1);
  });

  it('prunes as if there were no backend if the backend fails, and logs the failure', async () => {
    const service = await start();
    service.respond = (res) => json(res, 503, { detail: 'overloaded' });
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: env(service) });
    await (await proxy.chat(chatBody(oneResult(LOG)))).text();
    const failing = contentAt(upstream.last.body, -1);
    const plain = await startProxy(upstream);
    await (await plain.chat(chatBody(oneResult(LOG)))).text();
    const alone = contentAt(upstream.last.body, -1);
    const withoutIds = (text: string): string => text.replaceAll(/prn_\w{12}/g, 'prn_');
    expect(withoutIds(failing)).toBe(withoutIds(alone));
    expect(markersIn(failing)[0]?.pruneId).not.toBe(markersIn(alone)[0]?.pruneId);
    const [line] = await proxy.requestLines(1);
    expect(line?.fallbacks).toEqual([reason]);
    expect(await proxy.logText()).toContain(`"backend":"${name}"`);
  });

  it('asks about several new texts in parallel, but never about old ones or texts that stay whole', async () => {
    const service = await start();
    let most = 0;
    let open = 0;
    service.respond = async (res, request, index) => {
      most = Math.max(most, ++open);
      await until(() => most > 1);
      open--;
      answer(res, request, index);
    };
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: env(service) });
    const turns = [
      toolTurn('call_1', 'bash', { command: 'npm start' }, LOG),
      toolTurn('call_2', 'bash', { command: 'npm test' }, serverLog(300, 7)),
      toolTurn('call_3', 'bash', { command: 'npm start' }, LOG), // the same call with the same text: read again
      toolTurn('call_4', 'bash', { command: 'ls' }, 'a short text'),
    ];
    const messages = [
      ...oneResult('').slice(0, 2),
      { role: 'assistant', content: null, tool_calls: turns.flatMap(([call]) => call?.tool_calls as object[]) },
      ...turns.flatMap(([, result]) => result ?? []),
    ];
    await (await proxy.chat(chatBody(messages))).text();
    expect(service.calls).toHaveLength(2);
    await (await proxy.chat(chatBody([...messages, { role: 'user', content: 'Go on.' }]))).text();
    expect(service.calls).toHaveLength(2);
  });
});

describe('the proxy and prune_text', () => {
  it("share the backend's answers", async () => {
    const service = await startReranker((line) => (chosen(line) ? 0.98 : 0.001));
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream, { env: deepinfraEnv(service) });
    const goal = 'which items were asked for?';
    const ask = oneResult(LOG, { args: { command: 'npm start', context_focus_question: goal } });
    await (await proxy.chat(chatBody(ask))).text();
    const [call] = service.bodies<RerankCall>();
    const pruned = await pruneText(proxy, LOG, call?.queries[0] ?? '', {}, 'logs');
    expect(service.calls).toHaveLength(1);
    expect(pruned.warnings).toContain('cache_hit');
  });
});

describe('the backend swe-pruner', () => {
  it.each([
    ['content', 200],
    ['text', 201],
  ])('takes the text from the field %s of any 2xx answer', async (field, status) => {
    const service = await startSwePruner(chosen);
    service.respond = (res) => json(res, status, { [field]: CHOSEN.join('\n') });
    const proxy = await startProxy(await startUpstream(), { env: { MCP_PRUNER_SWE_PRUNER_URL: service.url } });
    const pruned = await pruneText(proxy, LOG, 'which items?', {}, 'logs');
    for (const line of CHOSEN) expect(pruned.pruned_text).toContain(line);
    expect(pruned.warnings).toEqual([]);
    expect(pruned.stats).toMatchObject({
      backend: 'swe-pruner',
      used_fallback: false,
      swe_pruner_http_status: status,
      swe_pruner_cached: false,
    });
    expect(service.bodies<PruneCall>()).toEqual([{ code: LOG, query: 'which items?' }]);
  });

  const refused: readonly [string, object][] = [
    ['lines that the text does not have', { pruned_code: 'something else' }],
    ['lines out of order', { pruned_code: [...CHOSEN].reverse().join('\n') }],
    ['nothing at all', { pruned_code: '' }],
    ['an error', { pruned_code: CHOSEN.join('\n'), error_msg: 'out of memory' }],
    ['no text', { pruned: CHOSEN.join('\n') }],
    ['a text that is a number', { pruned_code: 7 }],
  ];

  it.each(refused)('is ignored if it answers %s', async (_what, body) => {
    const service = await startSwePruner(() => true);
    service.respond = (res) => json(res, 200, body);
    const proxy = await startProxy(await startUpstream(), { env: { MCP_PRUNER_SWE_PRUNER_URL: service.url } });
    const pruned = await pruneText(proxy, LOG, 'which items?', {}, 'logs');
    expect(pruned.warnings).toEqual(['swe_pruner_error', 'swe_pruner_parse_error']);
    expect(pruned.stats).toMatchObject({ used_fallback: true, swe_pruner_http_status: 200 });
    expect(pruned.annotations.length).toBeGreaterThan(0);
  });

  it('is not called when its address is missing', async () => {
    const proxy = await startProxy(await startUpstream(), { env: { KIMI_PRUNING_BACKEND: 'swe-pruner' } });
    const pruned = await pruneText(proxy, LOG, 'which items?', {}, 'logs');
    expect(pruned.warnings).toEqual(['swe_pruner_error', 'swe_pruner_config_error']);
  });
});
