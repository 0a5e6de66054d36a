import { started, type Work, waitFor } from '../../base/work.ts';

/** Names of the spans of one model request. */
type SpanName = 'look-up' | 'decide' | 'commit' | 'upstream';

/** Facts of a request; never a text or a credential. */
export type SpanFacts = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Spans of requests, for a tracing SDK registered by the user. Never affects the traced work. */
export interface Traces {
  /** Runs a request as a span, as a child of the span in its `traceparent`. */
  request<T>(headers: RequestHeaders, facts: SpanFacts, work: () => Promise<T>): Promise<T>;
  /** Runs a part of the current request as a span. */
  part<T>(name: SpanName, work: () => Promise<T>): Promise<T>;
  /** Adds facts to the current span. */
  note(facts: SpanFacts): void;
}

/** Runs a part of a request, as a span if tracing is on. */
export function* inSpan<T>(traces: Traces | undefined, name: SpanName, work: Work<T>): Work<T> {
  return traces ? yield* waitFor(traces.part(name, () => started(work))) : yield* work;
}
