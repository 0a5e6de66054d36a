import type { Annotation } from '../../engine/text/render.ts';
import type { LineRange, SourceType } from '../../engine/types.ts';

/** Options of `prune_text` (docs/contract.md §4). */
export interface PruneTextOptions {
  readonly maxPruneRatio: number;
  readonly minKeepLines: number;
  readonly timeoutMs: number;
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
}

export interface PruneTextInput {
  readonly text: string;
  readonly goalHint: string;
  /** If absent, the type is detected from the text. */
  readonly sourceType?: SourceType;
  readonly options: PruneTextOptions;
}

/** Statistics of one pruning call and of the scoring backend. */
export interface PruneStats {
  readonly originalLines: number;
  readonly keptLines: number;
  readonly prunedLines: number;
  /** Rounded to 4 decimals. */
  readonly prunedRatio: number;
  readonly tokensEstBefore: number;
  readonly tokensEstAfter: number;
  readonly elapsedMs: number;
  /**
   * Set if pruning failed and the text is unchanged, or if the requested backend failed and the engine ranked alone.
   */
  readonly usedFallback: boolean;
  /** Further fields, already in wire spelling (`backend`, `deepinfra_latency_ms`, …). */
  readonly extra: Readonly<Record<string, string | number | boolean>>;
}

export interface PruneTextResult {
  readonly pruneId: string;
  readonly prunedText: string;
  readonly annotations: readonly Annotation[];
  readonly stats: PruneStats;
  /** Failure codes, and notes from the backend (`cache_hit`). If `usedFallback` is false, nothing failed. */
  readonly warnings: readonly string[];
}

export interface RecoverInput {
  readonly pruneId: string;
  readonly ranges: readonly LineRange[];
  readonly numbered: boolean;
}

/** Batch versions of the calls: all inputs succeed, or none. */
export interface BulkPruner {
  /**
   * Like `pruneText` for each input, with one commit for all originals.
   *
   * @throws PrunerError `recovery_unavailable` if the store refuses any of them; then none is stored
   */
  pruneAll(inputs: readonly PruneTextInput[], signal?: AbortSignal): Promise<PruneTextResult[]>;
  /**
   * Like `recover` for each input.
   *
   * @throws PrunerError like `recover`, with the `index` of the first input that failed; nothing is returned then
   */
  recoverAll(inputs: readonly RecoverInput[]): Promise<string[]>;
}

/** Operations for callers that pass a text directly. The proxy uses the same services through its own pipeline. */
export interface Pruner {
  /** Never rejects because of an internal fault: a text that cannot be pruned is returned unchanged with a warning. */
  pruneText(input: PruneTextInput, signal?: AbortSignal): Promise<PruneTextResult>;
  /**
   * Original lines behind a prune id.
   *
   * @throws PrunerError `invalid_range` (start > end, a line < 1, or ranges that together are much longer than the
   * text), `prune_id_not_found`, `recovery_unavailable`
   */
  recover(input: RecoverInput): Promise<string>;
  /**
   * Number of lines in the text behind a prune id.
   *
   * @throws PrunerError `prune_id_not_found`, `recovery_unavailable`
   */
  lineCount(pruneId: string): Promise<number>;
}
