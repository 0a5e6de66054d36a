import { BoundedLabels } from './bounded-labels.ts';
import type { Recorder } from './prometheus.ts';

/** Which part of the server answered. */
export type Route =
  | 'chat_completions'
  | 'messages'
  | 'responses'
  | 'gemini'
  | 'converse'
  | 'passthrough'
  | 'rpc'
  | 'prune'
  | 'health'
  | 'metrics'
  | 'other';

/** One finished request. Holds counts and names, never a text. */
export interface RequestSample {
  readonly route: Route;
  /** The status the client saw; 0 when it left before there was one. */
  readonly status: number;
  /** As the client named it; `''` where there is none. */
  readonly model: string;
  /** From the request's arrival to the first byte of the answer, or `null` when none was sent. */
  readonly firstByteMs: number | null;
  /** Why the upstream failed (`refused`, `timeout`, `reset`, …), or `null`. */
  readonly upstreamError: string | null;
  /** The provider's own count, where it reported one. */
  readonly usage?: ProviderTokens;
  /** Absent where pruning was never considered. */
  readonly pruning?: PruningSample;
}

/** Tokens as the provider counted them; `null` where it did not say. */
export interface ProviderTokens {
  /** All that was read, from a cache or not. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens?: number | null;
}

/** What pruning did to one request, or to one `prune_text` call. */
export interface PruningSample {
  readonly candidates: number;
  readonly pruned: number;
  /** Of the candidates, markers included. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  /** Time spent in pruning. */
  readonly elapsedMs: number;
  /** Reason codes, one for each candidate or request that fell back. */
  readonly fallbacks: readonly string[];
}

/** What a request came to in the ledger; dollars are `null` where no price is known. */
export interface BillSample {
  /** As the client named it. */
  readonly model: string;
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  readonly regretDollars: number | null;
  /** One of the ledger's causes, or `null`. */
  readonly miss: string | null;
  readonly missTokens: number;
  readonly missDollars: number | null;
}

/** Sizes of the store, as `Store.stats` gives them. */
export interface StoreSizes {
  readonly prunes: number;
  readonly snapshots: number;
  readonly bytes: number;
}

export interface MetricsOptions {
  readonly version: string;
  /** Asked at each scrape; a rejection shows as `mcp_pruner_store_up 0`. */
  readonly storeSizes: () => Promise<StoreSizes>;
}

export interface Metrics {
  /** Counts a finished request. Never throws. */
  request(sample: RequestSample): void;
  /** Counts pruning that was asked for outside the proxy. Never throws. */
  pruning(sample: PruningSample): void;
  /** Counts what a request came to. Never throws. */
  billed(sample: BillSample): void;
  /** Counts figures of the ledger that were added to the project `(others)`. Never throws. */
  folded(figures: number): void;
  /** Counts a compaction of a client, or one that cuts have avoided. Never throws. */
  compaction(kind: 'seen' | 'avoided'): void;
  /** The page that Prometheus scrapes. */
  /** Once the library is loaded. */
  loaded(): Promise<void>;
  page(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Requests counted while the library is still loading; it takes well under a second. */
const MAX_WAITING = 10_000;
const MAX_MODELS = 50;
const MAX_REASONS = 50;

/** A counter that is told anything but a number of things to add throws. */
function amount(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}

/**
 * Makes the metrics of one server, on a registry of its own. The library loads later than the rest of
 * the program; what is counted until then waits.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const models = new BoundedLabels(MAX_MODELS);
  const reasons = new BoundedLabels(MAX_REASONS);
  let recorder: Recorder | undefined;
  let loading: Promise<Recorder> | undefined;
  const waiting: ((recorder: Recorder) => void)[] = [];

  const load = (): Promise<Recorder> => {
    loading ??= import('./prometheus.ts').then(({ createRecorder }) => {
      const made = createRecorder(options);
      for (const record of waiting.splice(0)) record(made);
      recorder = made;
      return made;
    });
    return loading;
  };

  const record = (count: (recorder: Recorder) => void): void => {
    if (recorder !== undefined) {
      count(recorder);
      return;
    }
    if (waiting.length < MAX_WAITING) waiting.push(count);
    load().catch(() => {}); // a scrape reports it
  };

  const plainPruning = (sample: PruningSample): PruningSample => ({
    candidates: amount(sample.candidates),
    pruned: amount(sample.pruned),
    tokensBefore: amount(sample.tokensBefore),
    tokensAfter: amount(sample.tokensAfter),
    elapsedMs: amount(sample.elapsedMs),
    fallbacks: sample.fallbacks.map((reason) => reasons.of(reason)),
  });

  return {
    request({ route, status, model, upstreamError, pruning, usage, firstByteMs }) {
      const sample: RequestSample = {
        route,
        status,
        model: models.of(model),
        firstByteMs: firstByteMs === null ? null : amount(firstByteMs),
        upstreamError: upstreamError === null ? null : reasons.of(upstreamError),
        ...(usage && { usage }),
        ...(pruning && { pruning: plainPruning(pruning) }),
      };
      record((to) => to.request(sample));
    },
    pruning(sample) {
      const plain = plainPruning(sample);
      record((to) => to.pruning(plain));
    },
    billed(sample) {
      const bounded = { ...sample, model: models.of(sample.model) };
      record((to) => to.billed(bounded));
    },
    folded(figures) {
      record((to) => to.folded(figures));
    },
    compaction(kind) {
      record((to) => to.compaction(kind));
    },
    async loaded() {
      await load();
    },
    async page() {
      return (await load()).page();
    },
  };
}
