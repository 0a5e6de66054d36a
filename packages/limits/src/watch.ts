import { createHmac } from 'node:crypto';
import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import { type LimitReading, limitsInEvent, limitsInFields, UNITS } from '@mcp-pruner/money/limits/read-limits.ts';
import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { type BackgroundWriter, type WriteBehind, writeApart } from 'mcp-pruner/base/write-behind.ts';
import type { EndedExchange } from 'mcp-pruner/core/ports/guest.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { isUnwritable } from 'mcp-pruner/errors/errors.ts';
import type { LabelledGauge } from 'mcp-pruner/observe/metrics.ts';
import type { Transactions } from 'mcp-pruner/store/sql/steps.ts';
import type { ProviderUsage } from 'mcp-pruner/wires/dialects/dialect.ts';
import { addReadings } from './readings.ts';

interface LimitWatchOptions {
  readonly sql: Transactions;
  /** Salt for account hashes, shared by all processes on a store. @throws StoreUnavailable */
  readonly salt: () => Promise<string | null>;
  readonly clock: Clock;
  readonly behind: WriteBehind;
  /** Called for each request that the model answered. */
  readonly onAnswered?: (request: EndedExchange) => void;
  /** Called once per account, window and reset if a request was refused because the window is used up. */
  readonly onRejected?: (reading: Reading) => void;
  readonly onFailure: FailureReporter;
}

/** Maximum number of answers with unwritten readings; beyond it, the oldest are dropped. */
const MAX_WAITING = 5_000;
/** Number of answers whose readings are written per transaction. */
const WRITTEN_AT_ONCE = 100;
/** Maximum number of windows remembered for metrics. */
const MAX_WINDOWS = 200;
const MAX_REJECTED = 1_000;
const TOO_MANY_REQUESTS = 429;
const ACCOUNT_CHARS = 12;

interface WaitingReading {
  readonly request: EndedExchange;
  readonly limits: LimitReading;
}

/** Reads the limits of subscriptions from answers, and stores them off the request path. */
export class LimitWatch {
  readonly #options: LimitWatchOptions;
  readonly #behind: BackgroundWriter;
  readonly #waiting: WaitingReading[] = [];
  readonly #latest = new BoundedMap<string, Reading>(MAX_WINDOWS);
  readonly #rejected = new BoundedMap<string, true>(MAX_REJECTED);
  #salt: string | null = null;
  #failing = false;

  constructor(options: LimitWatchOptions) {
    this.#options = options;
    this.#behind = options.behind.writer(() => this.#write());
  }

  /** Notes a request that has ended. Never throws or blocks. */
  ended(exchange: EndedExchange): void {
    const isSilent = exchange.fields.length + exchange.limitEvents.length === 0;
    const limits = isSilent ? null : limitsOf(exchange);
    if (limits !== null) this.#note(exchange, limits);
    this.#options.onAnswered?.(exchange);
  }

  gauge(): LabelledGauge {
    return {
      name: 'limit_used_ratio',
      help: "Used share of a subscription's limit, by window.",
      labels: ['provider', 'window', 'account'],
      read: () => {
        const nowS = this.#options.clock.nowMs() / 1000;
        return [...this.#latest.values()]
          .filter(({ resetsS }) => resetsS > nowS)
          .map(({ provider, window, account, used }) => ({
            labels: { provider, window, account },
            value: used / UNITS,
          }));
      },
    };
  }

  /** Writes pending readings. Never rejects. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  #note(request: EndedExchange, limits: LimitReading): void {
    this.#waiting.push({ request, limits });
    if (this.#waiting.length > MAX_WAITING) this.#waiting.shift();
    this.#behind.soon(this.#waiting.length);
  }

  async #write(): Promise<void> {
    const { onFailure } = this.#options;
    while (this.#waiting.length > 0) {
      const some = this.#waiting.slice(0, WRITTEN_AT_ONCE);
      try {
        this.#salt ??= await this.#options.salt();
        await writeApart(
          some,
          (part) => this.#writeSome(part),
          isUnwritable,
          (_, cause) => {
            this.#waiting.shift();
            onFailure('limits_row_dropped', cause, { requests: 1 });
          },
        );
        this.#failing = false;
      } catch (cause) {
        if (!this.#failing) onFailure('limits_not_written', cause, { requests: this.#waiting.length });
        this.#failing = true;
        this.#behind.soon();
        return;
      }
    }
  }

  /** @throws StoreUnavailable */
  async #writeSome(some: readonly WaitingReading[]): Promise<void> {
    const readings = some.flatMap((waiting) => readingsOf(waiting, this.#salt ?? ''));
    await this.#options.sql.write(() => addReadings(readings), { background: 'limits' });
    this.#waiting.splice(0, some.length);
    this.#written(some, readings);
  }

  #written(some: readonly WaitingReading[], readings: readonly Reading[]): void {
    for (const reading of readings) this.#latest.set(`${reading.account}\n${reading.window}`, reading);
    const refused = new Set(
      some.flatMap(({ request }) => (request.status === TOO_MANY_REQUESTS ? [request.requestId] : [])),
    );
    for (const reading of readings) {
      if (reading.status !== 'rejected' || !refused.has(reading.request)) continue;
      const key = `${reading.account}\n${reading.window}\n${reading.resetsS}`;
      if (this.#rejected.has(key)) continue;
      this.#rejected.set(key, true);
      this.#options.onRejected?.(reading);
    }
  }
}

/** The limits that an answer reports: in its head, and in events that each report one limit anew. */
function limitsOf({ fields, limitEvents, startedMs }: EndedExchange): LimitReading | null {
  const nowS = startedMs / 1000;
  let known = limitsInFields(fields, nowS);
  for (const event of limitEvents) {
    const limits = limitsInEvent(event, nowS);
    if (limits === null) continue;
    const windows = new Map([...(known?.windows ?? []), ...limits.windows].map((one) => [one.window, one]));
    known = { ...limits, plan: limits.plan ?? known?.plan ?? null, windows: [...windows.values()] };
  }
  return known;
}

function readingsOf({ request, limits }: WaitingReading, salt: string): Reading[] {
  const { requestId, project, session, conversationId, keyId = '', caller, model, startedMs, endedMs, usage } = request;
  const { provider, plan } = limits;
  const account = accountOf(limits.accountId || request.accountId || caller, `${provider}\n${salt}`);
  return limits.windows.map(({ window, minutes, used, resetsS, status }) => ({
    ...{ account, provider, plan, window, minutes, resetsS, used, status },
    ...{ request: requestId, project, session: session || conversationId, conversation: conversationId, keyId, model },
    ...{ startedMs, endedMs, weight: weightOf(usage) },
  }));
}

/** Pseudonym of an account, from which its id cannot be derived. */
function accountOf(id: string, salt: string): string {
  return createHmac('sha256', salt).update(id).digest('hex').slice(0, ACCOUNT_CHARS);
}

/** Weight of a token of each kind, in hundredths of an uncached input token. */
const WEIGHTS = { fresh: 100, written: 125, written1h: 200, read: 10, output: 500 };

/** Billed input equivalents of a request, in hundredths of a token; 0 without reported usage. */
function weightOf(usage: ProviderUsage | null): number {
  if (usage === null) return 0;
  const { besides } = usage;
  const input = (usage.promptTokens ?? 0) + (besides?.input ?? 0);
  const read = (usage.cachedTokens ?? 0) + (besides?.read ?? 0);
  const written = (usage.cacheWriteTokens ?? 0) + (besides?.written ?? 0);
  const written1h = Math.min(written, (usage.cacheWrite1hTokens ?? 0) + (besides?.written1h ?? 0));
  const output = (usage.completionTokens ?? 0) + (besides?.output ?? 0);
  return Math.round(
    Math.max(0, input - read - written) * WEIGHTS.fresh +
      (written - written1h) * WEIGHTS.written +
      written1h * WEIGHTS.written1h +
      read * WEIGHTS.read +
      output * WEIGHTS.output,
  );
}
