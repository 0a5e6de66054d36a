import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import {
  type BillSample,
  BoundedLabels,
  type LabelledGauge,
  type LabelValues,
  type MetricLabel,
  type Metrics,
  type MetricsOptions,
  type ProviderTokens,
  type RequestSample,
  type Route,
} from './metrics.ts';

/** Counts samples. The values of configured labels are bounded by the caller. */
export interface Recorder extends Pick<Metrics, 'pruning' | 'folded' | 'compaction' | 'prefixBreak' | 'page'> {
  request(sample: RequestSample, labelValues: LabelValues): void;
  billed(sample: BillSample, labelValues: LabelValues): void;
}

/** Upper bounds in seconds: from a warm turn to a text at its time limit. */
const PRUNING_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5];
/** Upper bounds in seconds: from loopback to a model that thinks for minutes. */
const FIRST_BYTE_SECONDS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Routes with answers from an upstream. */
const PROXIED: ReadonlySet<Route> = new Set<Route>([
  'chat_completions',
  'messages',
  'responses',
  'gemini',
  'interactions',
  'converse',
  'passthrough',
]);

/** The library's counters throw for negative or non-finite amounts, so those become 0. */
function amount(value: number | null | undefined): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** Kinds of the provider's tokens, in the order of `RequestSeries.tokens`. */
const KINDS = ['prompt', 'cached', 'cache_write', 'completion'] as const;
const MAX_REASONS = 50;

/**
 * A counter that adds up in memory and passes its sums to the library at a scrape: the library's own addition sorts and
 * joins the labels each time.
 */
class LateCounter<L extends string> {
  readonly #counter: Counter<L>;
  readonly #names: readonly L[];
  readonly #sums = new Map<string, { readonly labels: Partial<Record<L, string>>; value: number }>();

  constructor(counter: Counter<L>, names: readonly L[]) {
    this.#counter = counter;
    this.#names = names;
  }

  inc(labels: Partial<Record<L, string>> = {}, value = 1): void {
    let key = '';
    for (const name of this.#names) key += `${labels[name] ?? ''}\0`;
    const sum = this.#sums.get(key);
    if (sum) sum.value += value;
    else this.#sums.set(key, { labels, value });
  }

  flush(): void {
    for (const { labels, value } of this.#sums.values()) this.#counter.inc(labels, value);
    this.#sums.clear();
  }
}

function makerFor(registry: Registry) {
  const registers = [registry];
  const late: { flush(): void }[] = [];
  const sums: (() => void)[] = [];
  return {
    counter: <L extends string>(name: string, help: string, ...labelNames: L[]): LateCounter<L> => {
      const counter = new Counter({ name: `mcp_pruner_${name}`, help, labelNames, registers });
      const adding = new LateCounter(counter, labelNames);
      late.push(adding);
      return adding;
    },
    flush: (): void => {
      for (const add of sums) add();
      for (const counter of late) counter.flush();
    },
    /** Calls a function before the sums are passed on. */
    before: (add: () => void): void => void sums.push(add),
    histogram: (name: string, help: string, buckets: number[]): Histogram =>
      new Histogram({ name: `mcp_pruner_${name}`, help, buckets, registers }),
  };
}

type Maker = ReturnType<typeof makerFor>;

/** Figures of requests with the same labels, added up until a scrape. */
interface RequestSeries {
  readonly labels: Readonly<Record<string, string>>;
  requests: number;
  saved: number;
  readonly tokens: [prompt: number, cached: number, cacheWrite: number, completion: number];
}

export function createRecorder({
  version,
  storeSizes,
  labels,
  gauges = [],
  labelledGauges = () => [],
}: MetricsOptions & { readonly labels: readonly MetricLabel[] }): Recorder {
  const registry = new Registry();
  const make = makerFor(registry);
  const reasons = new BoundedLabels(MAX_REASONS);
  const pruning = pruningMetrics(make, reasons);
  const request = requestMetrics(make, labels, { pruning, reasons });
  const ofLedger = ledgerMetrics(make, labels);
  const readStore = storeGauges(registry, storeSizes);
  addProcessGauges(registry);
  for (const { name, help, read } of gauges) addGauge(registry, `mcp_pruner_${name}`, help, read);
  const labelled = new Map<string, Gauge>();
  new Gauge({ name: 'mcp_pruner_build_info', help: 'Always 1.', labelNames: ['version'], registers: [registry] })
    .labels(version)
    .set(1);
  return {
    request,
    pruning,
    ...ofLedger,
    async page() {
      await readStore(); // read before the scrape, which reads all gauges at once
      for (const one of labelledGauges()) setLabelled(registry, labelled, one);
      make.flush();
      return { contentType: registry.contentType, text: await registry.metrics() };
    },
  };
}

/** Sets a gauge to its source's current values; created on the first scrape. */
function setLabelled(registry: Registry, known: Map<string, Gauge>, { name, help, labels, read }: LabelledGauge): void {
  const gauge =
    known.get(name) ?? new Gauge({ name: `mcp_pruner_${name}`, help, labelNames: [...labels], registers: [registry] });
  known.set(name, gauge);
  gauge.reset();
  for (const sample of read()) gauge.set(sample.labels, sample.value);
}

function pruningMetrics({ counter, histogram, before }: Maker, reasons: BoundedLabels): Recorder['pruning'] {
  const candidates = counter('candidates_total', 'Texts large enough to be pruned.');
  const prunes = counter('prunes_total', 'Texts of which something was cut.');
  const tokensBefore = counter('tokens_before_total', 'Estimated tokens of candidates as they came.');
  const tokensAfter = counter('tokens_after_total', 'Estimated tokens of candidates as they were passed on.');
  const tokensSaved = counter('tokens_saved_total', 'Estimated tokens saved.');
  const fallbacks = counter('fallbacks_total', 'Fallbacks by reason (docs/errors.md).', 'reason');
  const time = histogram('pruning_seconds', 'Time spent in pruning, for each request.', PRUNING_SECONDS);
  const sums = { candidates: 0, pruned: 0, before: 0, after: 0, saved: 0 };
  before(() => {
    candidates.inc({}, sums.candidates);
    prunes.inc({}, sums.pruned);
    tokensBefore.inc({}, sums.before);
    tokensAfter.inc({}, sums.after);
    tokensSaved.inc({}, sums.saved);
    Object.assign(sums, { candidates: 0, pruned: 0, before: 0, after: 0, saved: 0 });
  });
  return (sample) => {
    if (sample.candidates > 0) {
      sums.candidates += amount(sample.candidates);
      sums.pruned += amount(sample.pruned);
      sums.before += amount(sample.tokensBefore);
      sums.after += amount(sample.tokensAfter);
      sums.saved += amount(sample.tokensBefore - sample.tokensAfter);
    }
    time.observe(amount(sample.elapsedMs) / 1000);
    for (const reason of sample.fallbacks) fallbacks.inc({ reason: reasons.of(reason) });
  };
}

function requestMetrics(
  { counter, histogram, before }: Maker,
  labels: readonly MetricLabel[],
  { pruning, reasons }: { readonly pruning: Recorder['pruning']; readonly reasons: BoundedLabels },
): Recorder['request'] {
  const requests = counter('requests_total', 'Requests answered.', 'route', 'status', ...labels);
  const savedByRoute = counter('route_tokens_saved_total', 'Estimated tokens saved, for each wire.', 'route');
  const providerTokens = counter('provider_tokens_total', 'Tokens as the provider counted them.', 'route', 'kind');
  const upstreamErrors = counter('upstream_errors_total', 'Requests that failed at the upstream.', 'reason');
  const firstByte = histogram('first_byte_seconds', 'Time until the first byte of an answer.', FIRST_BYTE_SECONDS);
  const series = new Map<string, RequestSeries>();
  before(() => {
    for (const { labels: known, requests: count, saved, tokens } of series.values()) {
      const { route = '' } = known;
      requests.inc(known, count);
      if (saved >= 0) savedByRoute.inc({ route }, saved);
      for (const [i, kind] of KINDS.entries()) {
        const sum = tokens[i] ?? 0;
        if (sum > 0) providerTokens.inc({ route, kind }, sum);
      }
    }
    series.clear();
  });
  return ({ route, status, firstByteMs, upstreamError, pruning: cuts, usage }, labelValues) => {
    let key = `${route} ${status} ${cuts === undefined}`;
    for (const label of labels) key += `\0${labelValues[label] ?? ''}`;
    let of = series.get(key);
    if (of === undefined) {
      const shown = status >= 100 && status <= 599 ? String(status) : 'none';
      const known = { route, status: shown, ...labelValues };
      // without pruning, the route gets no figure of saved tokens
      of = { labels: known, requests: 0, saved: cuts === undefined ? -1 : 0, tokens: [0, 0, 0, 0] };
      series.set(key, of);
    }
    of.requests++;
    // only proxied answers, because scrapes and health checks would dominate the histogram
    if (firstByteMs !== null && PROXIED.has(route)) firstByte.observe(amount(firstByteMs) / 1000);
    if (upstreamError !== null) upstreamErrors.inc({ reason: reasons.of(upstreamError) });
    if (cuts !== undefined) {
      pruning(cuts);
      if (cuts.candidates > 0) of.saved += amount(cuts.tokensBefore - cuts.tokensAfter);
    }
    if (usage !== undefined) addTokens(of.tokens, usage);
  };
}

function addTokens(tokens: RequestSeries['tokens'], usage: ProviderTokens): void {
  const { promptTokens, cachedTokens, cacheWriteTokens, completionTokens } = usage;
  if (promptTokens !== null && promptTokens > 0) tokens[0] += promptTokens;
  if (cachedTokens !== null && cachedTokens > 0) tokens[1] += cachedTokens;
  if (cacheWriteTokens != null && cacheWriteTokens > 0) tokens[2] += cacheWriteTokens;
  if (completionTokens !== null && completionTokens > 0) tokens[3] += completionTokens;
}

function ledgerMetrics(
  { counter, before }: Maker,
  labels: readonly MetricLabel[],
): Pick<Recorder, 'billed' | 'folded' | 'compaction' | 'prefixBreak'> {
  const dollars = counter('dollars_total', 'What requests cost, by the table of prices.', ...labels);
  const without = counter('dollars_without_pruning_total', 'What requests would have cost without any cut.', ...labels);
  const regret = counter('regret_dollars_total', 'Cost of text that was sent again because it had been cut.');
  const unpriced = counter('unpriced_requests_total', 'Requests of models without a price.', ...labels);
  const missTokens = counter(
    'cache_miss_tokens_total',
    'Tokens that were in the cache and were not read from it.',
    'cause',
  );
  const missDollars = counter(
    'cache_miss_dollars_total',
    'What missed tokens cost above the price of reading them from the cache.',
    'cause',
  );
  const folded = counter(
    'ledger_folded_figures_total',
    'Figures added to the project (others), as a day had too many.',
  );
  const prefixBreaks = counter(
    'prefix_breaks_total',
    'Requests whose provider reported that sent items had changed.',
    'model',
    'wire',
  );
  const compactions = counter(
    'compactions_total',
    'Conversations that went on from a summary of their client, and those that cuts kept from it.',
    'kind',
  );
  for (const kind of ['seen', 'avoided']) compactions.inc({ kind }, 0);
  const series = new Map<string, { labels: LabelValues; unpriced: number; dollars: number; without: number }>();
  before(() => {
    for (const { labels: known, ...sums } of series.values()) {
      if (sums.unpriced > 0) unpriced.inc(known, sums.unpriced);
      dollars.inc(known, sums.dollars);
      without.inc(known, sums.without);
    }
    series.clear();
  });
  return {
    billed(sample, labelValues) {
      const { miss, regretDollars } = sample;
      let key = '';
      for (const label of labels) key += `\0${labelValues[label] ?? ''}`;
      let of = series.get(key);
      if (of === undefined) {
        of = { labels: labelValues, unpriced: 0, dollars: 0, without: 0 };
        series.set(key, of);
      }
      if (sample.dollars === null) of.unpriced++;
      of.dollars += Math.max(0, sample.dollars ?? 0);
      of.without += Math.max(0, sample.dollarsWithout ?? 0);
      if (regretDollars !== null && regretDollars > 0) regret.inc({}, regretDollars);
      if (miss === null) return;
      missTokens.inc({ cause: miss }, amount(sample.missTokens));
      missDollars.inc({ cause: miss }, amount(sample.missDollars));
    },
    folded: (figures) => folded.inc({}, amount(figures)),
    compaction: (kind) => compactions.inc({ kind }),
    prefixBreak: (of) => prefixBreaks.inc(of),
  };
}

function storeGauges(registry: Registry, storeSizes: MetricsOptions['storeSizes']): () => Promise<void> {
  const gauge = (name: string, help: string): Gauge =>
    new Gauge({ name: `mcp_pruner_store_${name}`, help, registers: [registry] });
  const up = gauge('up', 'Whether the store answers and can be written.');
  const prunes = gauge('prunes', 'Prune ids that can be recovered.');
  const snapshots = gauge('snapshots', 'Originals in the store.');
  const bytes = gauge('bytes', 'Size of the store in bytes.');
  return async () => {
    try {
      const sizes = await storeSizes();
      prunes.set(sizes.prunes);
      snapshots.set(sizes.snapshots);
      bytes.set(sizes.bytes);
      up.set(1);
    } catch {
      up.set(0);
    }
  };
}

/** A few process figures, read at each scrape; the library's own metrics would sample continuously. */
function addProcessGauges(registry: Registry): void {
  const gauge = (name: string, help: string, read: () => number): void => addGauge(registry, name, help, read);
  gauge('process_resident_memory_bytes', 'Resident memory.', () => process.memoryUsage.rss());
  gauge('process_uptime_seconds', 'Time since the process started.', () => process.uptime());
  gauge('nodejs_heap_used_bytes', 'Heap in use.', () => process.memoryUsage().heapUsed);
  let before = performance.eventLoopUtilization();
  gauge('nodejs_eventloop_utilization_ratio', 'Share of time since the last scrape that the thread was busy.', () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, before);
    before = now;
    return utilization;
  });
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'User and system CPU time.',
    registers: [registry],
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1_000_000);
    },
  });
}

function addGauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}
