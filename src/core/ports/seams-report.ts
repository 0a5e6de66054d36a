import { count, plural } from '../../base/counts.ts';

/** Finished work of conversations, and the compactions made at seams, as in `report --json`. */
export interface SeamsReport {
  readonly seams: {
    readonly setting: 'off' | 'measure' | 'on';
    readonly threshold_tokens: number | 'auto';
    /** Dollars of the period that repeated finished work. */
    readonly weight_usd: number;
    /** Finished work at the newest seam of each conversation, largest first, at most 100. */
    readonly conversations: readonly {
      readonly id: string;
      readonly weight_tokens: number;
      /** Dollars of one more request; `null` without a price. */
      readonly price_usd: number | null;
    }[];
    readonly compactions: CompactionsReport;
    readonly payback: Payback;
    /** `null` without summaries, or without conversations of the control group that were long enough for one. */
    readonly holdout: SeamsHoldout | null;
  };
}

/** Conversations of the control group, which get no summaries, and all others, from the length on at which they may. */
export interface SeamsHoldout {
  readonly control: SeamsArm;
  readonly others: SeamsArm;
}

export interface SeamsArm {
  readonly conversations: number;
  /** Requests since a conversation was long enough. */
  readonly requests: number;
  readonly compactions: number;
  /** Dollars of these requests, and of the summaries. */
  readonly usd: number;
  /** `null` without requests. */
  readonly usd_per_request: number | null;
}

/** The comparison with the control group in words; `''` without one. @param money - dollars as text */
export function holdoutWords(holdout: SeamsHoldout | null, money: (dollars: number) => string): string {
  if (holdout === null) return '';
  const words = ({ conversations, usd_per_request }: SeamsArm): string =>
    `${plural(conversations, 'conversation')}, ${usd_per_request === null ? 'no request' : `${money(usd_per_request)} a request`}`;
  return `Long enough for a summary: control group ${words(holdout.control)}; others ${words(holdout.others)}, with ${plural(holdout.others.compactions, 'summary', 'summaries')}`;
}

/**
 * What compactions made by the proxy cost and saved, in words; `''` without any.
 *
 * @param money - dollars as text
 */
export function compactionWords(
  { made, failed, refused, tokens_replaced, usd_spent, usd_saved, paid_back }: CompactionsReport,
  { after_requests, never, by_client }: Payback,
  money: (dollars: number) => string,
): string {
  if (made + failed + refused === 0) return '';
  const net = usd_saved < 0 ? `lost ${money(-usd_saved)}` : `saved ${money(usd_saved)}`;
  const paid = after_requests === null ? '' : `${paid_back} paid back, after ${plural(after_requests, 'request')}`;
  return [
    `Summaries of finished work: ${made} made${failed + refused === 0 ? '' : `, ${failed} failed, ${refused} refused by the provider`}`,
    `${count(tokens_replaced)} tokens replaced for ${money(usd_spent)}`,
    `${net} net (estimated)`,
    paid,
    never === 0 ? '' : `${never} never paid back`,
    by_client === 0 ? '' : `clients made ${by_client} themselves`,
  ]
    .filter((words) => words !== '')
    .join('; ');
}

/** A compaction of a conversation, for people. */
export interface CompactionShown {
  readonly atMs: number;
  /** In words: what became of it, and why. */
  readonly outcome: string;
  readonly tokens: number;
  readonly dollars: number;
}

/** After how many requests compactions had saved their price, estimated. */
export interface Payback {
  /** Median of those that did; `null` without any. */
  readonly after_requests: number | null;
  /** Compactions whose conversation ended before. */
  readonly never: number;
  /** Compactions that clients made themselves in the same period. */
  readonly by_client: number;
}

/** Compactions that the proxy had the provider make. Dollars are estimated; what was saved is net, and may be negative. */
export interface CompactionsReport {
  readonly made: number;
  readonly failed: number;
  /** Given up because the provider refused the first request with the summary. */
  readonly refused: number;
  readonly tokens_replaced: number;
  readonly usd_spent: number;
  readonly usd_saved: number;
  /** Number of those that saved more than they cost. */
  readonly paid_back: number;
}

/** What conversations would have cost, had they been compacted otherwise. */
export interface ThresholdCost {
  /** Length in tokens at which clients compact; `seam`: by the provider, where a task ends; `client`: as it was. */
  readonly tokens: number | 'seam' | 'client';
  readonly usd: number;
  /** Part of the bill that is left. */
  readonly share: number;
  readonly compactions: number;
}
