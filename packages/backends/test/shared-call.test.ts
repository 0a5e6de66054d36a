import { describe, expect, it } from 'vitest';
import { CallFailure } from '../src/post-json.ts';
import type { LineOpinions, RemoteBackend } from '../src/remote-backend.ts';
import { RemoteScorer } from '../src/remote-scorer.ts';

/** A backend that answers when the test says so. */
class HeldBackend implements RemoteBackend {
  readonly name = 'held';
  readonly prefix = 'held';
  readonly identity = 'held';
  readonly timeoutMs = 60_000;
  readonly configured = true;
  readonly calls: { readonly answer: (scored: number) => void; readonly signal: AbortSignal }[] = [];

  ask(_request: unknown, { signal }: { readonly signal: AbortSignal }): Promise<LineOpinions> {
    return new Promise((resolve, reject) => {
      this.calls.push({ signal, answer: (scored) => resolve({ opinions: new Float64Array(1), scored, status: 200 }) });
      signal.addEventListener('abort', () => setImmediate(() => reject(new CallFailure('cancelled', null))));
    });
  }
}

function scorerOf(backend: RemoteBackend): RemoteScorer {
  const clock = { nowMs: () => 0 };
  return new RemoteScorer(backend, {
    clock,
    cacheTtlMs: 0,
    cacheMaxItems: 0,
    onFailure: () => {},
    onBreaker: () => {},
  });
}

const request = { text: 'one line', textHash: 'h', goal: 'g', sourceType: 'docs', sample: () => [0] } as const;

describe('a call that several callers share', () => {
  it('continues while any caller waits', async () => {
    const backend = new HeldBackend();
    const scorer = scorerOf(backend);
    const patient = scorer.score({ ...request, timeoutMs: 60_000 });
    const impatient = await scorer.score({ ...request, timeoutMs: 20 });
    expect(impatient.warnings).toEqual(['held_error', 'held_http_error']);
    expect(backend.calls[0]?.signal.aborted).toBe(false);
    backend.calls[0]?.answer(1);
    expect((await patient).stats).toMatchObject({ held_docs_scored: 1 });
    expect(backend.calls).toHaveLength(1);
  });

  it('is not shared once it was cancelled', async () => {
    const backend = new HeldBackend();
    const scorer = scorerOf(backend);
    const leaving = new AbortController();
    const first = scorer.score({ ...request, timeoutMs: 60_000, signal: leaving.signal });
    leaving.abort();
    const second = scorer.score({ ...request, timeoutMs: 60_000 });
    expect((await first).scores).toBeNull();
    expect(backend.calls).toHaveLength(2);
    backend.calls[1]?.answer(1);
    expect((await second).scores).not.toBeNull();
  });

  it('is not started for a caller that has already left', async () => {
    const backend = new HeldBackend();
    const { scores } = await scorerOf(backend).score({ ...request, timeoutMs: 60_000, signal: AbortSignal.abort() });
    expect(scores).toBeNull();
    expect(backend.calls.filter(({ signal }) => !signal.aborted)).toHaveLength(0);
  });

  it('is treated as an unusable answer if it throws unexpectedly', async () => {
    const backend = new HeldBackend();
    backend.ask = () => Promise.reject(new TypeError('cannot read x of undefined'));
    const { warnings } = await scorerOf(backend).score({ ...request, timeoutMs: 60_000 });
    expect(warnings).toEqual(['held_error', 'held_parse_error']);
  });
});
