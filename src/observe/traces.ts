import {
  context,
  isSpanContextValid,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import type { SpanFacts, Traces } from '../core/ports/traces.ts';

const NAME = 'mcp-pruner';

/**
 * Spans via the OpenTelemetry API. Without a registered SDK they are no-ops.
 *
 * @param onNoSdk - called if none is registered
 */
export function openTraces(version: string, onNoSdk: () => void): Traces {
  const tracer = trace.getTracer(NAME, version);
  const probe = tracer.startSpan('start');
  if (!isSpanContextValid(probe.spanContext())) onNoSdk();
  probe.end();
  return {
    request(headers, facts, work) {
      const parent = propagation.extract(context.active(), headers);
      const options = { kind: SpanKind.SERVER, attributes: attributesOf(facts) };
      return tracer.startActiveSpan('request', options, parent, (span) => ended(span, work));
    },
    part(name, work) {
      const kind = name === 'upstream' ? SpanKind.CLIENT : SpanKind.INTERNAL;
      return tracer.startActiveSpan(name, { kind }, (span) => ended(span, work));
    },
    note(facts) {
      trace.getActiveSpan()?.setAttributes(attributesOf(facts));
    },
  };
}

/** Ends a span. Failures set the status only, because the message may quote a text. */
async function ended<T>(span: Span, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    span.setStatus({ code: SpanStatusCode.ERROR });
    throw cause;
  } finally {
    span.end();
  }
}

function attributesOf(facts: SpanFacts): Record<string, string | number | boolean | string[]> {
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, typeof value === 'object' ? [...value] : value]],
    ),
  );
}
