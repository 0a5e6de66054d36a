import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';
import type { ChildRecord } from '../ports.ts';
import type { ChildStore } from '../tables/children.ts';
import { forbids } from './limits.ts';
import { hashToken } from './output.ts';
import { type ChildRecords, limitReported } from './records.ts';
import { isActive } from './spec.ts';

interface RequestGateOptions {
  readonly store: ChildStore;
  readonly records: ChildRecords;
  /** Cost of a request in dollars; `null` if its model has no price. */
  readonly costOf: (usage: ExchangeUsage) => number | null;
  /** Id of the child with this token hash, if monitored by this server. */
  readonly knownBy: (tokenHash: string) => string | undefined;
  /** Called when a request of a child was refused because of a limit. */
  readonly onRefused: (childId: string, limit: string) => void;
  readonly onFailure: FailureReporter;
}

/** Identifies children by token, counts their model requests, and refuses requests beyond a limit. */
export class RequestGate {
  readonly #options: RequestGateOptions;

  constructor(options: RequestGateOptions) {
    this.#options = options;
  }

  /** Finds the child of a token, or why there is none. */
  async admit(token: string) {
    const { store, knownBy } = this.#options;
    const hash = hashToken(token);
    const known = knownBy(hash);
    if (known !== undefined) return { childId: known };
    const record = await store.byToken(hash);
    if (record === null) return 'child_unknown' as const;
    return isActive(record) ? { childId: record.childId } : ('child_ended' as const);
  }

  /**
   * Counts one model request before it is forwarded. Never rejects: if the store fails, the request proceeds.
   *
   * @returns the limit that forbids it, or `null`
   */
  async reserve(childId: string): Promise<string | null> {
    let refused: string | null = null;
    try {
      await this.#options.records.update(childId, (record) => {
        refused = forbids(record);
        if (refused !== null) return record.limitsTold.includes(refused) ? null : limitReported(record, refused);
        return { record: { ...record, usage: { ...record.usage, messages: record.usage.messages + 1 } } };
      });
    } catch (cause) {
      this.#options.onFailure('limits', cause); // fail open: agents must not fail because of our store
      return null;
    }
    if (refused !== null) this.#options.onRefused(childId, refused);
    return refused;
  }

  /** Records the usage of a request. Never rejects. */
  async settle(childId: string, used: ExchangeUsage): Promise<void> {
    const { tokensIn, tokensOut } = used;
    if (tokensIn + tokensOut === 0) return; // the request was refused
    const { records, costOf, onFailure } = this.#options;
    const cost = costOf(used);
    await records
      .update(childId, (record) => {
        const { usage } = record;
        return {
          record: {
            ...record,
            usage: {
              ...usage,
              tokensIn: usage.tokensIn + tokensIn,
              tokensOut: usage.tokensOut + tokensOut,
              costUsd: cost === null ? usage.costUsd : (usage.costUsd ?? 0) + cost,
            },
            limitsUnenforced: cost === null ? withoutPrice(record) : record.limitsUnenforced,
          },
        };
      })
      .catch((cause: unknown) => onFailure('usage', cause));
  }
}

/** Adds the cost limit to the unenforced limits, because a request without a known price bypassed it. */
function withoutPrice({ limits, limitsUnenforced }: ChildRecord): readonly string[] {
  const isKept = limits.cost_usd === undefined || limitsUnenforced.includes('cost_usd');
  return isKept ? limitsUnenforced : [...limitsUnenforced, 'cost_usd'];
}
