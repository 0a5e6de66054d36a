import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import { sessionIn } from 'mcp-pruner/base/conversation-ids.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { CompactionStore, ContextPeak, StoredCompaction } from 'mcp-pruner/core/ports/compactions.ts';
import type { CompactionReport, ContextReport, ContextShown, Threshold } from 'mcp-pruner/core/ports/context-report.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { type ClientRow, clientRowOf, installedClientRows, ownClientRows, productIn } from './client-lengths.ts';

const ENOUGH_COMPACTIONS = 3;
const MAX_PEAKS = 10_000;
/** Value of `above` for peaks if no threshold is known. */
const MAX_ABOVE = 1_000_000_000;
const MAX_LENGTHS = 1_000;
const MAX_LISTED = 100;

/** @throws StoreUnavailable */
export async function readContexts(
  store: CompactionStore,
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string },
): Promise<ContextReport> {
  const query = { sinceMs: Date.parse(sinceDay), project };
  const [seen, all, cold] = await Promise.all([
    store.since(query),
    store.since({ ...query, sinceMs: 0 }),
    store.cold(query),
  ]);
  // shorter conversations only matter if they were compacted
  const above = Math.min(
    MAX_ABOVE,
    ...mediansOf(all).values(),
    ...[...ownClientRows(), ...installedClientRows()].map(({ tokens }) => tokens),
  );
  const peaks = await store.peaks({ ...query, limit: MAX_PEAKS, above });
  return { compactions: compactionsOf(seen, all, peaks), cold };
}

/**
 * @param all - all compactions, from which thresholds are learned
 * @param rows - fallback thresholds for clients with too few compactions
 */
export function compactionsOf(
  seen: readonly StoredCompaction[],
  all: readonly StoredCompaction[],
  peaks: readonly ContextPeak[],
  rows: readonly ClientRow[] = installedClientRows(),
): CompactionReport {
  const thresholds = thresholdsOf(all, rows);
  const compacted = new Map(seen.map((one) => [keyOf(one.project, one.continues), one]));
  const continued = new Map(seen.map((one) => [keyOf(one.project, one.conversation), one]));
  const known = new Map(peaks.map((peak) => [keyOf(peak.project, peak.conversationId), peak]));
  const shownOf = (of: ContextPeak): ContextShown => {
    const key = keyOf(of.project, of.conversationId);
    const threshold = thresholds(of)?.tokens ?? null;
    const before = continued.get(key);
    return {
      id: of.conversationId,
      session: sessionIn(of.conversationId),
      continues: before && before.continues !== of.conversationId ? before.continues : null,
      project: of.project,
      model: of.model,
      client: productIn(of.product),
      compacted_by: compacted.get(key)?.client ?? null,
      avoided: threshold !== null && of.whole > threshold && of.sent <= threshold,
      peak_sent: Number(of.sent),
      peak_whole: Number(of.whole),
      threshold,
    };
  };
  const shown = peaks.map(shownOf);
  // compacted conversations without a billed request
  const unbilled = seen.flatMap(({ project, product, model, continues, conversation }): ContextShown[] =>
    [continues, conversation]
      .filter((id) => id !== '' && !known.has(keyOf(project, id)))
      .map((conversationId) => shownOf({ project, product, model, conversationId, sent: 0, whole: 0 })),
  );
  const found = [...shown, ...unbilled].filter(
    (one) => one.avoided || one.continues !== null || one.compacted_by !== null,
  );
  return {
    // a client that asked for a summary and did not go on from it has compacted nothing
    seen: seen.filter(({ conversation }) => conversation !== '').length,
    avoided: shown.filter(({ avoided }) => avoided).length,
    conversations: [...new Map(found.map((one) => [keyOf(one.project, one.id), one])).values()].slice(0, MAX_LISTED),
  };
}

/** Key of a threshold, because clients on the same model compact at different lengths. */
type Compacting = Pick<ContextPeak, 'project' | 'product' | 'model'>;

type Thresholds = (of: Compacting) => Threshold | null;

/** Median length of compactions per project, client and model, if there are enough. */
function mediansOf(all: readonly StoredCompaction[]): ReadonlyMap<string, number> {
  const medians = new Map<string, number>();
  for (const [name, some] of groupBy(all, nameOf)) {
    const sorted = some.map(({ tokens }) => tokens).sort((a, b) => a - b);
    const median = sorted[sorted.length >> 1];
    if (median !== undefined && sorted.length >= ENOUGH_COMPACTIONS) medians.set(name, median);
  }
  return medians;
}

/**
 * Threshold per project, client and model: the length that the user has set in the client, else the median length of its
 * compactions, else the configured length, else `null`.
 */
function thresholdsOf(all: readonly StoredCompaction[], rows: readonly ClientRow[]): Thresholds {
  const medians = mediansOf(all);
  const set = new KnownLengths(ownClientRows());
  const lengths = new KnownLengths(rows);
  return (of) => {
    const own = set.get(of);
    if (own !== null) return own;
    const median = medians.get(nameOf(of));
    if (median !== undefined) return { tokens: median, learned: true };
    return lengths.get(of);
  };
}

/** Configured lengths by client, version and model. */
class KnownLengths {
  readonly #rows: readonly ClientRow[];
  readonly #known = new BoundedMap<string, { readonly length: Threshold | null }>(MAX_LENGTHS);

  constructor(rows: readonly ClientRow[]) {
    this.#rows = rows;
  }

  get({ product, model }: Pick<Compacting, 'product' | 'model'>): Threshold | null {
    const key = keyOf(product, model);
    const known = this.#known.get(key);
    if (known !== undefined) return known.length;
    const row = clientRowOf(this.#rows, { product, model });
    const length = row === undefined ? null : { tokens: row.tokens, learned: false };
    this.#known.set(key, { length });
    return length;
  }
}

function nameOf({ project, product, model }: Compacting): string {
  return keyOf(project, model, productIn(product));
}

/** Threshold of a client, model and project; `null` if unknown. @throws StoreUnavailable */
export async function readThreshold(store: Pick<CompactionStore, 'since'>, of: Compacting): Promise<Threshold | null> {
  return thresholdsOf(await store.since({ sinceMs: 0, project: of.project }), installedClientRows())(of);
}

function keyOf(...parts: readonly string[]): string {
  return parts.join('\n');
}

/** Interval for rereading thresholds. */
const LEARN_MS = 600_000;
const MAX_CONVERSATIONS = 10_000;

/** Client thresholds, learned in the background. */
export class LearnedThresholds {
  readonly #store: Pick<CompactionStore, 'since'>;
  readonly #onFailure: FailureReporter;
  #thresholds = thresholdsOf([], installedClientRows());
  #learntMs = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<CompactionStore, 'since'>, onFailure: FailureReporter) {
    this.#store = store;
    this.#onFailure = onFailure;
  }

  /** The threshold in tokens; `undefined` if unknown. */
  of(compacting: Compacting): number | undefined {
    if (performance.now() - this.#learntMs >= LEARN_MS) void this.learn();
    return this.#thresholds(compacting)?.tokens;
  }

  /** Learns from the compactions so far. Never rejects. */
  async learn(): Promise<void> {
    this.#learntMs = performance.now();
    try {
      this.#thresholds = thresholdsOf(await this.#store.since({ sinceMs: 0 }), installedClientRows());
    } catch (cause) {
      this.#onFailure('thresholds_not_read', cause);
    }
  }
}

/** Detects, request by request, conversations that would have exceeded the threshold only without pruning. */
export class AvoidedCompactions {
  readonly #thresholds: Pick<LearnedThresholds, 'of'>;
  /** Conversations that exceed the threshold when unpruned. */
  readonly #beyond = new BoundedMap<string, true>(MAX_CONVERSATIONS);

  constructor(thresholds: Pick<LearnedThresholds, 'of'>) {
    this.#thresholds = thresholds;
  }

  /** Whether the conversation avoided a compaction with this request. */
  billed({ project, conversationId, client, model, fresh, write5m, write1h, read, removed }: LedgerTurn): boolean {
    if (conversationId === '') return false;
    const threshold = this.#thresholds.of({ project, product: client ?? '', model });
    if (threshold === undefined) return false;
    const key = keyOf(project, conversationId);
    const sent = fresh + write5m + write1h + read;
    if (sent + Math.max(0, removed) <= threshold) {
      this.#beyond.delete(key);
      return false;
    }
    const isNew = !this.#beyond.has(key);
    this.#beyond.set(key, true);
    return isNew && sent <= threshold;
  }
}
