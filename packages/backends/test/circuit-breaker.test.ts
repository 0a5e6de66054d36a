import { describe, expect, it } from 'vitest';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { CircuitBreaker } from '../src/circuit-breaker.ts';
import { deepinfraEnv, NOWHERE, type Pruned, pruneText } from './pruning.ts';
import { hang, rerankAnswer, startReranker } from './services.ts';

class TestClock {
  at = 1_000_000;
  nowMs(): number {
    return this.at;
  }
}

function breaker(threshold = 3) {
  const clock = new TestClock();
  const changes: (string | null)[] = [];
  const it = new CircuitBreaker({ clock, threshold, openMs: 1_000, onChange: (kind) => changes.push(kind) });
  return { clock, changes, it };
}

describe('a circuit breaker', () => {
  it('opens only after consecutive failures of the same kind', () => {
    const { it: circuit, changes } = breaker();
    for (const kind of ['timeout', 'timeout', 'status_429', 'timeout', 'timeout']) circuit.failed(kind);
    expect(circuit.admits()).toBe(true);
    circuit.succeeded();
    circuit.failed('timeout');
    circuit.failed('timeout');
    expect(circuit.admits()).toBe(true);
    circuit.failed('timeout');
    expect(circuit.admits()).toBe(false);
    expect(changes).toEqual(['timeout']);
  });

  it('admits one trial call when its open time is over, and closes if the call succeeds', () => {
    const { it: circuit, clock, changes } = breaker(1);
    circuit.failed('timeout');
    clock.at += 999;
    expect(circuit.admits()).toBe(false);
    clock.at += 1;
    expect(circuit.admits()).toBe(true);
    expect(circuit.admits()).toBe(false);
    circuit.succeeded();
    expect([circuit.admits(), circuit.admits()]).toEqual([true, true]);
    expect(changes).toEqual(['timeout', null]);
  });

  it('stays open for the full time if the trial fails', () => {
    const { it: circuit, clock, changes } = breaker(1);
    circuit.failed('timeout');
    clock.at += 1_000;
    circuit.admits();
    circuit.failed('status_401');
    clock.at += 999;
    expect(circuit.admits()).toBe(false);
    clock.at += 1;
    expect(circuit.admits()).toBe(true);
    expect(changes).toEqual(['timeout']);
  });

  it('admits another trial call if the first was cancelled', () => {
    const { it: circuit, clock } = breaker(1);
    circuit.failed('timeout');
    clock.at += 1_000;
    circuit.admits();
    circuit.cancelled();
    expect(circuit.admits()).toBe(true);
  });

  it('opens at the first failure for as long as the service requests', () => {
    for (const waitMs of [200, 5_000]) {
      const { it: circuit, clock, changes } = breaker(3);
      circuit.failed('status_429', waitMs);
      clock.at += waitMs - 1;
      expect(circuit.admits()).toBe(false);
      clock.at += 1;
      expect(circuit.admits()).toBe(true);
      circuit.failed('status_429');
      clock.at += 999;
      expect(circuit.admits()).toBe(false);
      clock.at += 1;
      expect(circuit.admits()).toBe(true);
      expect(changes).toEqual(['status_429']);
    }
  });

  it('does not stay open because a clock was set back', () => {
    const { it: circuit, clock } = breaker(1);
    circuit.failed('timeout');
    clock.at -= 500_000;
    expect(circuit.admits()).toBe(true);
  });
});

describe('a dead backend', () => {
  const TEXT = serverLog(150);

  it('is skipped after a few timeouts, and tried again later', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = hang;
    const clock = new TestClock();
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker, { DEEPINFRA_TIMEOUT_MS: '300' }), clock });
    const ask = (goal: string): Promise<Pruned> => pruneText(proxy, TEXT, goal, {}, 'logs');

    for (let i = 0; i < 5; i++) expect((await ask(`goal ${i}`)).warnings).toContain('deepinfra_http_error');
    for (let i = 5; i < 9; i++) {
      const { warnings, stats } = await ask(`goal ${i}`);
      expect(warnings).toEqual(['deepinfra_error', 'deepinfra_circuit_open']);
      expect(stats).toMatchObject({ used_fallback: true, deepinfra_latency_ms: 0 });
    }
    expect(reranker.calls.length).toBeLessThanOrEqual(5);
    expect(await (await fetch(`${proxy.url}/health`)).json()).toMatchObject({
      status: 'healthy',
      backend: 'deepinfra',
      backend_state: 'circuit_open',
    });

    reranker.respond = (res, { body }) => {
      const { documents } = JSON.parse(body.toString('utf8')) as { documents: string[] };
      json(res, 200, rerankAnswer(documents.map(() => 0.5)));
    };
    let goals = 9;
    /** Asks until an answer comes within the 300 ms, which a busy machine may need longer for. */
    const answered = (waitMs: number) =>
      until(async () => {
        clock.at += waitMs;
        const { stats } = await ask(`goal ${goals++}`);
        return !stats.used_fallback && stats;
      });
    expect(await answered(30_000)).toMatchObject({ deepinfra_http_status: 200 });
    await answered(0); // closed again
    const log = await proxy.logText();
    expect(log).toContain('backend keeps failing, not asked for a while');
    expect(log).toContain('backend works again');
  });

  it.each([
    ['429', '7', 7_000],
    ['503', '2', 2_000],
    ['503 with a date', 'Thu, 01 Jan 1970 00:16:50 GMT', 10_000],
    ['429 that asks for an hour', '3600', 60_000],
  ])('is not called during the wait of Retry-After, at most a minute: %s', async (answer, retryAfter, waitMs) => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = (res) => {
      res.setHeader('retry-after', retryAfter);
      json(res, Number(answer.slice(0, 3)), { error: 'overloaded' });
    };
    const clock = new TestClock();
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker), clock });
    const ask = (goal: string): Promise<Pruned> => pruneText(proxy, TEXT, goal, {}, 'logs');
    expect((await ask('goal 1')).warnings).toEqual(['deepinfra_error', 'deepinfra_http_error']);
    clock.at += waitMs - 1;
    expect((await ask('goal 2')).warnings).toEqual(['deepinfra_error', 'deepinfra_circuit_open']);
    clock.at += 1;
    expect((await ask('goal 3')).warnings).toEqual(['deepinfra_error', 'deepinfra_http_error']);
    expect(reranker.calls).toHaveLength(2);
  });

  it.each(['0', '-5', 'soon', ''])('is called again at once if Retry-After is unusable: %j', async (retryAfter) => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = (res) => {
      res.setHeader('retry-after', retryAfter);
      json(res, 429, { error: 'overloaded' });
    };
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker), clock: new TestClock() });
    for (const goal of ['goal 1', 'goal 2']) await pruneText(proxy, TEXT, goal, {}, 'logs');
    expect(reranker.calls).toHaveLength(2);
  });

  it('is not considered dead because callers time out early', async () => {
    const reranker = await startReranker(() => 0.5);
    reranker.respond = hang;
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(reranker) });
    for (let i = 0; i < 8; i++) {
      const { warnings } = await pruneText(proxy, TEXT, `goal ${i}`, { timeout_ms: 40 }, 'logs');
      expect(warnings).toContain('deepinfra_http_error');
    }
  });
});
