import type { Recorder } from './prometheus.ts';

const OTHER = 'other';

const MAX_LENGTH = 64;

/**
 * Limits the number of a label's values: the first `limit` values keep their name, later ones become `other`. Names are
 * reduced to 64 plain characters.
 */
export class BoundedLabels {
  readonly #seen = new Set<string>();
  readonly #limit: number;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** The label value of a name; an empty name is `none`. */
  of(name: string): string {
    if (name === '') return 'none';
    if (this.#seen.has(name)) return name;
    const clean = name.slice(0, MAX_LENGTH).replaceAll(/[^\w.:/@+-]/g, '_');
    if (this.#seen.has(clean)) return clean;
    if (this.#seen.size >= this.#limit) return OTHER;
    this.#seen.add(clean);
    return clean;
  }
}

export type Route =
  | 'chat_completions'
  | 'messages'
  | 'responses'
  | 'gemini'
  | 'interactions'
  | 'converse'
  | 'passthrough'
  | 'rpc'
  | 'prune'
  | 'health'
  | 'metrics'
  | 'other';

/** Labels with external names as values. The settings select the ones in use. */
export type MetricLabel = 'model' | 'project' | 'key';

/** The origin of a request; `''` or absent if unknown. */
interface Labelled {
  readonly model: string;
  readonly project?: string | undefined;
  readonly key?: string | undefined;
}

/** One finished request. Contains counts and names, never a text. */
export interface RequestSample extends Labelled {
  readonly route: Route;
  /** Status sent to the client; 0 if it disconnected first. */
  readonly status: number;
  /** Time from the request's arrival to the first byte of the answer; `null` if none was sent. */
  readonly firstByteMs: number | null;
  /** Why the upstream failed (`refused`, `timeout`, `reset`, …), or `null`. */
  readonly upstreamError: string | null;
  /** The provider's reported usage, if any. */
  readonly usage?: ProviderTokens;
  /** Absent if pruning was not considered. */
  readonly pruning?: PruningSample;
}

/** The provider's token counts; `null` for counts that it did not report. */
export interface ProviderTokens {
  /** All input tokens, cached or not. */
  readonly promptTokens: number | null;
  readonly completionTokens: number | null;
  readonly cachedTokens: number | null;
  readonly cacheWriteTokens?: number | null;
}

export interface PruningSample {
  readonly candidates: number;
  readonly pruned: number;
  /** Tokens of the candidates; `tokensAfter` includes markers. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly elapsedMs: number;
  /** Reason codes, one per candidate or request that fell back. */
  readonly fallbacks: readonly string[];
}

/** A request's result in the ledger; dollars are `null` without a known price. */
export interface BillSample extends Labelled {
  readonly dollars: number | null;
  readonly dollarsWithout: number | null;
  readonly regretDollars: number | null;
  /** One of the ledger's causes, or `null`. */
  readonly miss: string | null;
  readonly missTokens: number;
  readonly missDollars: number | null;
}

interface StoreSizes {
  readonly prunes: number;
  readonly snapshots: number;
  readonly bytes: number;
}

export interface MetricsOptions {
  readonly version: string;
  /** Called at each scrape; a rejection appears as `mcp_pruner_store_up 0`. */
  readonly storeSizes: () => Promise<StoreSizes>;
  /** The labels of requests and dollars; default: the model. */
  readonly labels?: readonly MetricLabel[];
  /** Maximum number of distinct values per label. Default: 50. */
  readonly maxValues?: number;
  /** Further figures, read at each scrape. */
  readonly gauges?: readonly GaugeSource[];
  /** Figures with labels. Called at each scrape; the names and labels must not change after the first one. */
  readonly labelledGauges?: () => readonly LabelledGauge[];
}

interface GaugeSource {
  /** Name without the prefix `mcp_pruner_`. */
  readonly name: string;
  readonly help: string;
  readonly read: () => number;
}

export interface LabelledGauge {
  /** Name without the prefix `mcp_pruner_`. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Values with all labels; the source limits their number. */
  readonly read: () => readonly { readonly labels: Readonly<Record<string, string>>; readonly value: number }[];
}

export type LabelValues = Readonly<Partial<Record<MetricLabel, string>>>;

export interface Metrics {
  /** Counts a finished request. Never throws. */
  request(sample: RequestSample): void;
  /** Counts pruning requested outside the proxy. Never throws. */
  pruning(sample: PruningSample): void;
  /** Counts a request's cost. Never throws. */
  billed(sample: BillSample): void;
  /** Counts ledger figures that were folded into the project `(others)`. Never throws. */
  folded(figures: number): void;
  /** Counts a client's compaction, or one avoided by cuts. Never throws. */
  compaction(kind: 'seen' | 'avoided'): void;
  /** Counts a request whose provider reported a changed history. Never throws. */
  prefixBreak(labels: { readonly model: string; readonly wire: string }): void;
  loaded(): Promise<void>;
  page(): Promise<{ readonly contentType: string; readonly text: string }>;
}

/** Maximum number of requests queued while the library loads, which takes well under a second. */
const MAX_WAITING = 10_000;
const MAX_VALUES = 50;

/**
 * Creates the metrics of one server on their own registry. The library loads after the start; counts wait until then.
 */
export function createMetrics(options: MetricsOptions): Metrics {
  const { labels = ['model'], maxValues = MAX_VALUES } = options;
  const bounds = labels.map((label) => [label, new BoundedLabels(maxValues)] as const);
  const labelsOf = (named: Labelled): LabelValues => {
    const values: Partial<Record<MetricLabel, string>> = {};
    for (const [label, bound] of bounds) values[label] = bound.of(named[label] ?? '');
    return values;
  };
  const models = new BoundedLabels(maxValues);
  let recorder: Recorder | undefined;
  let loading: Promise<Recorder> | undefined;
  const waiting: ((recorder: Recorder) => void)[] = [];
  const open = async (): Promise<Recorder> => {
    const made = (await import('./prometheus.ts')).createRecorder({ ...options, labels });
    for (const count of waiting.splice(0)) count(made);
    recorder = made;
    return made;
  };
  const load = (): Promise<Recorder> => {
    loading ??= open();
    return loading;
  };
  /** Counts once the library is loaded, which the first count starts. */
  const later = (count: (recorder: Recorder) => void): void => {
    if (waiting.length < MAX_WAITING) waiting.push(count);
    load().catch(() => {}); // a scrape reports the error
  };
  const record = (count: (recorder: Recorder) => void): void => {
    if (recorder === undefined) later(count);
    else count(recorder);
  };
  return {
    request(sample) {
      const labelValues = labelsOf(sample);
      if (recorder === undefined) later((to) => to.request(sample, labelValues));
      else recorder.request(sample, labelValues);
    },
    pruning(sample) {
      record((to) => to.pruning(sample));
    },
    billed(sample) {
      const labelValues = labelsOf(sample);
      if (recorder === undefined) later((to) => to.billed(sample, labelValues));
      else recorder.billed(sample, labelValues);
    },
    folded(figures) {
      record((to) => to.folded(figures));
    },
    prefixBreak({ model, wire }) {
      const labelValues = { model: models.of(model), wire };
      record((to) => to.prefixBreak(labelValues));
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
