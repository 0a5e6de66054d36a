import { createHash } from 'node:crypto';
import type { Clock, LineScorer, Scored, ScoreRequest } from 'mcp-pruner/core/ports.ts';
import { splitLines } from 'mcp-pruner/engine/text/lines.ts';
import { AnswerCache } from './answer-cache.ts';
import { CircuitBreaker } from './circuit-breaker.ts';
import { CallFailure } from './post-json.ts';
import type { LineOpinions, RemoteBackend } from './remote-backend.ts';
import { SharedCall } from './shared-call.ts';

/** A failed call, for the log. Contains no text, no address and no credential. */
interface BackendFailure {
  readonly backend: string;
  /** Precise warning code (`deepinfra_http_error`, …). */
  readonly reason: string;
  readonly detail: string;
  readonly httpStatus: number | null;
}

export interface RemoteScorerOptions {
  readonly clock: Clock;
  readonly cacheTtlMs: number;
  readonly cacheMaxItems: number;
  readonly onFailure: (failure: BackendFailure) => void;
  /** Called when calls are paused after failures of this kind, and when they resume (`null`). */
  readonly onBreaker: (openedBy: string | null) => void;
}

const BREAKER_THRESHOLD = 5;
const BREAKER_OPEN_MS = 30_000;
/** Maximum pause that a service may request. */
const LONGEST_RETRY_AFTER_MS = 60_000;
/** Time-outs of callers with a shorter limit say nothing about the service. */
const SIGNIFICANT_WAIT_MS = 100;

/** Wraps a remote service with a cache, sharing of concurrent equal calls, time limits and a circuit breaker. */
export class RemoteScorer implements LineScorer {
  readonly #backend: RemoteBackend;
  readonly #options: RemoteScorerOptions;
  readonly #cache: AnswerCache;
  readonly #breaker: CircuitBreaker;
  readonly #underWay = new Map<string, SharedCall>();

  constructor(backend: RemoteBackend, options: RemoteScorerOptions) {
    const { clock, cacheTtlMs, cacheMaxItems, onBreaker } = options;
    this.#backend = backend;
    this.#options = options;
    this.#cache = new AnswerCache({ clock, ttlMs: cacheTtlMs, maxItems: cacheMaxItems });
    this.#breaker = new CircuitBreaker({
      clock,
      threshold: BREAKER_THRESHOLD,
      openMs: BREAKER_OPEN_MS,
      onChange: onBreaker,
    });
  }

  get name(): string {
    return this.#backend.name;
  }

  /** `ok`, `not_configured`, or `circuit_open` while calls are paused. */
  get state(): string {
    if (!this.#backend.configured) return 'not_configured';
    return this.#breaker.isOpen ? 'circuit_open' : 'ok';
  }

  async score(request: ScoreRequest): Promise<Scored> {
    const { prefix, configured } = this.#backend;
    const startedAt = performance.now();
    const total = splitLines(request.text).count;
    if (!configured) return this.#alone(total, [`${prefix}_error`, `${prefix}_config_error`]);
    if (request.goal.trim() === '') return this.#alone(total, [`${prefix}_no_goal`]);
    const key = this.#keyOf(request);
    const kept = this.#cache.get(key);
    if (kept) return this.#answered(kept, total, 0, true);
    const running = this.#underWay.get(key);
    const call = running?.abandoned === null ? running : this.#start(key, request);
    if (call === null) return this.#alone(total, [`${prefix}_error`, `${prefix}_circuit_open`]);
    try {
      const left = request.timeoutMs - (performance.now() - startedAt); // selecting lines took some of the time
      const timeoutMs = Math.max(1, Math.min(left, this.#backend.timeoutMs));
      const answer = await call.wait({ ...request, timeoutMs });
      return this.#answered(answer, total, performance.now() - startedAt, false);
    } catch (cause) {
      return this.#failed(total, performance.now() - startedAt, cause);
    }
  }

  #start(key: string, request: ScoreRequest): SharedCall | null {
    if (!this.#breaker.admits()) return null;
    const call = new SharedCall(async (signal) => {
      try {
        const answer = await this.#backend.ask(request, { timeoutMs: this.#backend.timeoutMs, signal });
        this.#breaker.succeeded();
        this.#cache.set(key, answer);
        return answer;
      } catch (cause) {
        this.#learn(failureOf(cause), call);
        throw cause;
      } finally {
        if (this.#underWay.get(key) === call) this.#underWay.delete(key);
      }
    });
    this.#underWay.set(key, call);
    return call;
  }

  /** Reports the end of a call to the breaker. An abort by the callers says little about the service. */
  #learn(failure: CallFailure, { abandoned, patienceMs }: SharedCall): void {
    const waitMs = retryAfterMs(failure, this.#options.clock.nowMs());
    if (failure.kind !== 'cancelled') this.#breaker.failed(breakerKind(failure), waitMs);
    else if (abandoned === 'timeout' && patienceMs >= SIGNIFICANT_WAIT_MS) this.#breaker.failed('timeout');
    else this.#breaker.cancelled();
  }

  #answered({ opinions, scored, status }: LineOpinions, total: number, latencyMs: number, cached: boolean): Scored {
    const { prefix } = this.#backend;
    const warnings = [...(cached ? ['cache_hit'] : []), ...(total > scored ? [`${prefix}_docs_truncated`] : [])];
    return { scores: opinions, warnings, stats: this.#stats(scored, total, latencyMs, cached, status) };
  }

  #failed(total: number, latencyMs: number, cause: unknown): Scored {
    const { prefix, name } = this.#backend;
    const failure = failureOf(cause);
    const reason = `${prefix}_${UNUSABLE.has(failure.kind) ? 'parse' : 'http'}_error`;
    if (failure.kind !== 'cancelled') {
      this.#options.onFailure({ backend: name, reason, detail: failure.message, httpStatus: failure.status });
    }
    return {
      scores: null,
      warnings: [`${prefix}_error`, reason],
      stats: this.#stats(0, total, latencyMs, false, failure.status),
    };
  }

  #alone(total: number, warnings: readonly string[]): Scored {
    return { scores: null, warnings, stats: this.#stats(0, total, 0, false, null) };
  }

  #stats(scored: number, total: number, latencyMs: number, cached: boolean, status: number | null): Scored['stats'] {
    const { name, prefix } = this.#backend;
    return {
      backend: name,
      [`${prefix}_latency_ms`]: Math.round(latencyMs),
      [`${prefix}_docs_scored`]: scored,
      [`${prefix}_docs_total`]: total,
      ...(status !== null && { [`${prefix}_http_status`]: status }),
      [`${prefix}_cached`]: cached,
    };
  }

  #keyOf({ textHash, goal, sourceType }: ScoreRequest): string {
    const parts = [this.#backend.identity, textHash, goal, sourceType];
    return createHash('sha256').update(JSON.stringify(parts)).digest('base64');
  }
}

/** An answer was received, but it is unusable. */
const UNUSABLE: ReadonlySet<string> = new Set(['not_json', 'too_large', 'wrong_shape']);

function breakerKind({ kind, status }: CallFailure): string {
  if (kind !== 'status' || status === null) return kind;
  return status >= 500 ? 'status_5xx' : `status_${status}`;
}

/** The pause requested by an overloaded service, in seconds or as a date; `null` if none. */
function retryAfterMs({ status, retryAfter }: CallFailure, nowMs: number): number | null {
  if (retryAfter === null || (status !== 429 && status !== 503)) return null;
  const isDate = /^[A-Z][a-z]{2}, \d\d /.test(retryAfter);
  const dateMs = isDate ? Date.parse(retryAfter) - nowMs : Number.NaN;
  const waitMs = /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1_000 : dateMs;
  return waitMs > 0 ? Math.min(waitMs, LONGEST_RETRY_AFTER_MS) : null;
}

/** Converts any error to a `CallFailure`; bugs in parsing count as an unusable answer. */
function failureOf(cause: unknown): CallFailure {
  return cause instanceof CallFailure ? cause : new CallFailure('wrong_shape');
}
