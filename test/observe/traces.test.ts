import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-node';
import { expect, it } from 'vitest';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';
const traceparent = `00-${TRACE}-${PARENT}-01`;

it('a registered SDK gets the spans of a request without texts, and forwarding does not change', async () => {
  const upstream = await startUpstream();
  const body = chatBody(oneResult(serverLog(400, 1)));
  const ask = async (env: Record<string, string>) => {
    const proxy = await startProxy(upstream, { env });
    await (await proxy.chat(body, { traceparent, authorization: 'Bearer sk-secret' })).text();
    await proxy.requestLines(1);
    return proxy;
  };
  await ask({});
  const unregistered = await ask({ MCP_PRUNER_TRACES: 'on' });
  expect(await unregistered.logText()).toContain('no OpenTelemetry SDK is registered');

  const exporter = new InMemorySpanExporter();
  new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).register();
  const traced = await ask({ MCP_PRUNER_TRACES: 'on' });
  expect(await traced.logText()).not.toContain('no OpenTelemetry SDK');
  const spans = await until(() => {
    const done = exporter.getFinishedSpans().filter(({ name }) => name !== 'start');
    return done.some(({ name }) => name === 'request') && done;
  });
  const root = spans.find(({ name }) => name === 'request');
  expect(spans.map(({ name }) => name).sort()).toEqual(['commit', 'decide', 'look-up', 'request', 'upstream']);
  expect(root?.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: PARENT });
  for (const span of spans) {
    expect(span.spanContext().traceId).toBe(TRACE);
    if (span !== root) expect(span.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
  }
  expect(root?.attributes).toMatchObject({
    ...{ 'mcp_pruner.wire': 'chat', 'mcp_pruner.pruned': 1, 'http.response.status_code': 200 },
    'mcp_pruner.end': 'answered',
  });
  const text = JSON.stringify(
    spans.map(({ attributes, events, status, links }) => ({ attributes, events, status, links })),
  );
  for (const secret of ['GET /v1', 'payment', 'sk-secret', 'prune_id']) expect(text).not.toContain(secret);

  const [plain, , last] = upstream.requests;
  expect(last?.body.equals(plain?.body ?? Buffer.alloc(0))).toBe(true);
  for (const request of upstream.requests) expect(request.headers.traceparent).toBe(traceparent);
});
