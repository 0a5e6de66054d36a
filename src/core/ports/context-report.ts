import type { ColdFigures } from './compactions.ts';

/**
 * A conversation that was compacted, continues from a compacted one, or avoided a compaction. Lengths are in tokens.
 */
export interface ContextShown {
  readonly id: string;
  /** The conversation whose summary it begins with, or `null`. */
  readonly continues: string | null;
  readonly project: string;
  readonly model: string;
  /** Product name of its user agent; `''` where it is not known. */
  readonly client: string;
  /** The client that compacted it, or `null`. */
  readonly compacted_by: string | null;
  /** Unpruned, it would have passed the threshold; as forwarded, it never did. */
  readonly avoided: boolean;
  readonly peak_sent: number;
  readonly peak_whole: number;
  /** The same for all conversations of a session of the client; `''` if the client names none. */
  readonly session: string;
  /** The length at which its client compacts; `null` if that is unknown. */
  readonly threshold: number | null;
}

export interface CompactionReport {
  readonly seen: number;
  readonly avoided: number;
  /** The longest first, at most 100. */
  readonly conversations: readonly ContextShown[];
}

/** Compactions, and what pauses cost, as `report`, `stats` and the page show them. */
export interface ContextReport {
  readonly compactions: CompactionReport;
  readonly cold: ColdFigures;
}

/** The length in tokens at which a client compacts its history. */
export interface Threshold {
  readonly tokens: number;
  /** Whether it was learned from the client's compactions; otherwise it is from `config/clients.toml`. */
  readonly learned: boolean;
}
