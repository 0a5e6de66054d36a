import type { ColdFigures } from './compactions.ts';

/**
 * A conversation that was compacted, continues from a compacted one, or avoided a compaction. Lengths are in tokens.
 */
export interface ContextShown {
  readonly id: string;
  /** The conversation whose summary it begins with, or `null`. */
  /** First words of the user; absent if they are not kept, or not looked up. */
  readonly title?: string;
  readonly continues: string | null;
  readonly project: string;
  readonly model: string;
  /** Product name of the user agent; `''` if unknown. */
  readonly client: string;
  /** The client that compacted it, or `null`. */
  readonly compacted_by: string | null;
  /** The unpruned conversation would have exceeded the threshold; the forwarded one never did. */
  readonly avoided: boolean;
  readonly peak_sent: number;
  readonly peak_whole: number;
  /** Shared by all conversations of a client session; `''` if the client sends no session id. */
  readonly session: string;
  /** Length at which the client compacts; `null` if unknown. */
  readonly threshold: number | null;
}

export interface CompactionReport {
  readonly seen: number;
  readonly avoided: number;
  /** Longest first, at most 100. */
  readonly conversations: readonly ContextShown[];
}

/** Compactions and the cost of pauses, as shown by `report`, `stats` and the page. */
export interface ContextReport {
  readonly compactions: CompactionReport;
  readonly cold: ColdFigures;
}

/** Length at which a client compacts its history, in tokens. */
export interface Threshold {
  readonly tokens: number;
  /** Whether the value was learned from the client's compactions; otherwise it comes from `config/clients.toml`. */
  readonly learned: boolean;
}
