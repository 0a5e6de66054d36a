import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { OverBudget } from 'mcp-pruner/core/ports/budgets.ts';
import type { AccessKey, CounterIncrement, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { Viewer } from 'mcp-pruner/core/ports/projects.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { Admitted, Counted, KeyRefusal, OverLimit } from './admission.ts';
import { FirstAnswers } from './first-answers.ts';
import type { KeyRing } from './key-ring.ts';
import { ALL_PROJECTS, hashOfKey, isKeyText } from './key-text.ts';
import type { Refusals } from './refusals.ts';

interface GateOptions {
  readonly ring: KeyRing;
  readonly keys: () => Promise<KeyStore>;
  readonly refusals: Refusals;
  readonly clock: Clock;
  readonly onFailure: FailureReporter;
}

const DEFAULT_PROJECT = 'default';
/** Decay of the remembered request size per request; a third remains after ten. */
const FADING = 0.9;
const SPAN_MS: Readonly<Record<'minute' | 'day', number>> = { minute: 60_000, day: 86_400_000 };
/** `Retry-After` while the first request is unanswered, in seconds. */
const FIRST_RETRY_S = 2;

/** Admits requests by key, within the key's projects and limits. Promises never reject. */
export class Gate {
  readonly #options: GateOptions;
  /** Typical request size of each key in tokens: a decaying maximum. */
  readonly #typical = new BoundedMap<string, number>(10_000);
  readonly #first: FirstAnswers;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#first = new FirstAnswers(options);
  }

  /**
   * @param shown - the key as sent by a client
   * @param project - the project that the request names, or `''`
   */
  admit(shown: string, project: string): Admitted | KeyRefusal | Promise<Admitted | KeyRefusal> {
    const { ring } = this.#options;
    const hash = hashOfKey(shown);
    const found = isKeyText(shown) ? ring.find(hash) : 'key_unknown';
    if (typeof found === 'object') return this.#admitted(found, project);
    if (!isKeyText(shown) || found === 'key_revoked' || found === 'key_expired') return found;
    // the key may have just been created
    return ring.pollAnew().then(() => {
      const now = ring.find(hash);
      return typeof now === 'object' ? this.#admitted(now, project) : now;
    });
  }

  #admitted(key: AccessKey, project: string): Admitted | KeyRefusal {
    const found = admitted(key, project);
    if (typeof found === 'object') this.#options.ring.used(key.id);
    return found;
  }

  /** Whether an admitted key without limits is still valid; if so, records its use. */
  renew(keyId: string): boolean {
    const { ring } = this.#options;
    if (typeof ring.byId(keyId) !== 'object') return false;
    ring.used(keyId);
    return true;
  }

  /** The holder of a previously admitted key, identified by a cookie; `null` if the key is invalid. */
  known(keyId: string): { readonly admitted: Admitted; readonly hash: string } | null {
    const key = this.#options.ring.byId(keyId);
    if (typeof key !== 'object') return null;
    const made = admitted(key, '');
    return typeof made === 'object' ? { admitted: made, hash: key.hash } : null;
  }

  /** Calls the listener whenever keys may have become invalid. */
  onVoid(listener: () => void): void {
    this.#options.ring.onPolled(listener);
  }

  /**
   * Counts one request before it is forwarded. If the counter is unavailable, the request proceeds.
   *
   * @param tokens - estimated; 0 for a request that does not call a model
   */
  async take(by: Admitted, tokens: number): Promise<OverLimit | Counted> {
    const { keyId, limited } = by;
    if (limited !== 'tokens' || tokens === 0) return this.#count(keyId, tokens);
    const entered = await this.#first.enter(keyId, () => this.#typical.has(keyId));
    if (entered === 'refused') return { code: 'key_first_answer_awaited', retryAfterS: FIRST_RETRY_S };
    const counted = await this.#count(keyId, tokens);
    if (entered === 'known') return counted;
    if (!('code' in counted)) return { ...counted, isFirst: true };
    await this.#first.leave(keyId);
    return counted;
  }

  async #count(keyId: string, tokens: number): Promise<OverLimit | Counted> {
    const { ring, keys, clock, onFailure } = this.#options;
    const key = ring.byId(keyId);
    // in-flight requests count with the typical size of earlier ones
    const counted = { tokens: tokens === 0 ? 0 : Math.max(tokens, this.#typical.get(keyId) ?? 0) };
    if (typeof key !== 'object') return counted; // the key became invalid after admission
    const nowMs = clock.nowMs();
    const increments = incrementsOf(key, nowMs, counted.tokens);
    if (increments.length === 0) return counted;
    try {
      const room = await (await keys()).count(keyId, increments);
      const over = increments.find(({ span }) => !room.has(span));
      return over === undefined ? counted : overLimit(over, nowMs);
    } catch (cause) {
      onFailure('not_counted', cause, { key: keyId });
      return counted;
    }
  }

  /** Like `take`, for calls without a model: they count against the requests per minute, but use no tokens. */
  async takeCalls({ keyId }: Pick<Admitted, 'keyId'>, calls: number): Promise<OverLimit | null> {
    const { ring, keys, clock, onFailure } = this.#options;
    const key = ring.byId(keyId);
    if (typeof key !== 'object' || key.requestsPerMinute === null) return null;
    const nowMs = clock.nowMs();
    const increment: TimedIncrement = {
      span: 'minute',
      at: spanAt('minute', nowMs),
      add: calls,
      limit: key.requestsPerMinute,
    };
    try {
      const room = await (await keys()).count(keyId, [increment]);
      return room.has('minute') ? null : overLimit(increment, nowMs);
    } catch (cause) {
      onFailure('not_counted', cause, { key: keyId });
      return null;
    }
  }

  /** Replaces the estimate by the actual tokens of a request. */
  async settle({ keyId }: Admitted, counted: Counted, tokens: number): Promise<void> {
    const { keys, clock, onFailure } = this.#options;
    // a request without tokens says nothing about the size of others
    if (tokens > 0) this.#typical.set(keyId, Math.max(tokens, Math.floor((this.#typical.get(keyId) ?? 0) * FADING)));
    try {
      const at = spanAt('day', clock.nowMs());
      const add = tokens - counted.tokens;
      if (add !== 0) await (await keys()).correct(keyId, { span: 'day', at, add });
    } catch (cause) {
      onFailure('not_counted', cause, { key: keyId });
    }
    if (counted.isFirst) await this.#first.leave(keyId);
  }

  refused(reason: KeyRefusal | OverLimit['code'] | OverBudget['code'], keyId: string | null): void {
    this.#options.refusals.add(reason, keyId);
  }
}

/** A key for all projects admits any named project; other keys only their own, by default the first of them. */
function admitted(key: AccessKey, project: string): Admitted | KeyRefusal {
  const { id: keyId, projects, requestsPerMinute, tokensPerDay } = key;
  const limited = tokensPerDay !== null ? 'tokens' : requestsPerMinute !== null ? 'requests' : 'no';
  const viewer = viewerOf(projects, project);
  return viewer === null ? 'key_project' : { keyId, viewer, limited };
}

/** Viewer of these projects, with one of them as working project; `null` if the named project is not among them. */
export function viewerOf(projects: readonly string[], project: string): Viewer | null {
  if (projects.includes(ALL_PROJECTS)) return { projects: 'all', project: project || DEFAULT_PROJECT };
  if (project !== '' && !projects.includes(project)) return null;
  const [first = ''] = projects;
  return { projects, project: project || first };
}

type TimedIncrement = CounterIncrement & { readonly span: 'minute' | 'day' };

function incrementsOf({ requestsPerMinute, tokensPerDay }: AccessKey, nowMs: number, tokens: number): TimedIncrement[] {
  return [
    ...(requestsPerMinute === null
      ? []
      : [{ span: 'minute', at: spanAt('minute', nowMs), add: 1, limit: requestsPerMinute } as const]),
    ...(tokensPerDay === null
      ? []
      : [{ span: 'day', at: spanAt('day', nowMs), add: tokens, limit: tokensPerDay } as const]),
  ];
}

function spanAt(span: TimedIncrement['span'], nowMs: number): number {
  return Math.floor(nowMs / SPAN_MS[span]);
}

function overLimit({ span, at }: TimedIncrement, nowMs: number): OverLimit {
  return {
    code: span === 'minute' ? 'key_requests_used_up' : 'key_tokens_used_up',
    retryAfterS: Math.max(1, Math.ceil(((at + 1) * SPAN_MS[span] - nowMs) / 1000)),
  };
}
