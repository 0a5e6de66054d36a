import { Ledger, readReport } from '@mcp-pruner/ledger/ledger.ts';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import type { Settings } from 'mcp-pruner/config/settings.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import type { RewrittenRequest } from 'mcp-pruner/core/request/rewritten.ts';
import { unprunedFacts, usageFacts } from 'mcp-pruner/proxy/report/ledger-facts.ts';
import { AnswerReader } from 'mcp-pruner/wires/dialects/answers/reader.ts';
import type { Dialect } from 'mcp-pruner/wires/dialects/dialect.ts';
import { MemoryLedger } from './memory-ledger.ts';
import type { ReplayDollars } from './report.ts';

/** Assumed interval between requests, because logs have no times: short enough for cache hits. */
const APART_MS = 1_000;

/** Bills recorded requests with the ledger, as sent and as they would have been with cuts. */
export class Bills {
  readonly #kept = new MemoryLedger();
  readonly #ledger: Ledger;
  #atMs: number;
  #count = 0;

  /** A broken price file is not an error: models without a price are billed in tokens only. */
  constructor(settings: Settings, clock: Clock) {
    this.#atMs = clock.nowMs();
    this.#ledger = new Ledger({
      store: this.#kept,
      prices: pricesOf(settings),
      clock,
      onFailure: (_, cause) => {
        throw cause;
      },
    });
  }

  /** @param response - the recorded answer, if any */
  add(rewritten: RewrittenRequest, dialect: Dialect, response: unknown): void {
    const answer = new AnswerReader();
    if (response !== undefined) answer.data(Buffer.from(JSON.stringify(response)));
    const about = { requestId: String(this.#count++), project: '', wire: dialect.name };
    this.#atMs += APART_MS;
    const usage = usageFacts(response === undefined ? null : answer.end().usage);
    this.#ledger.request({ ...unprunedFacts(rewritten, about), atMs: this.#atMs, usage });
  }

  async dollars(): Promise<ReplayDollars> {
    await this.#ledger.flush();
    const { totals } = await readReport(this.#kept, { sinceDay: '1970-01-01' });
    const { dollars: before, dollarsWithout: after, estimated, unpriced } = totals;
    return { before, after, estimated, unpriced };
  }
}
