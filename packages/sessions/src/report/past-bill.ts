import { type Bill, billOf, entering } from '@mcp-pruner/money/bill.ts';
import type { Known } from '@mcp-pruner/money/known.ts';
import { unpricedNotes } from '@mcp-pruner/money/price-notes.ts';
import type { Prices } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import { markedIn } from 'mcp-pruner/core/decide/own-markers.ts';
import type { MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type { RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import type { SessionRequest } from '../readers/recorded.ts';
import { UsedLines } from '../readers/used-lines.ts';
import { compactionsOf, type RequestSize } from './compactions.ts';
import { type PastReport, type PastTotals, Sums, ZERO_TOTALS } from './past-report.ts';
import type { Rehearsed } from './rehearsal.ts';

const RECOVERS = /"name":"[^"]{0,100}recover_text"/;
const NAMES = /"name":"([^"\\]{1,120})"/g;

/** Whether a session already went through the proxy: a result has a marker, or the model recovered a text. */
export function wentThroughProxy(requests: readonly SessionRequest[]): boolean {
  const histories = new Set(requests.map(({ history }) => history));
  return [...histories].some((history) =>
    history.some(({ json, made }) => (made ? RECOVERS.test(json) : markedIn(json).length > 0)),
  );
}

interface ThreadState {
  readonly known: Known | null;
  readonly sizes: RequestSize[];
  readonly lines: { readonly history: SessionRequest['history']; readonly until: number } | null;
}

/** Bills the requests of past sessions, one session at a time. */
export class PastBill {
  readonly #prices: Prices;
  readonly #all = new Sums<keyof PastTotals>(ZERO_TOTALS);
  readonly #projects = new Sums<keyof PastTotals>(ZERO_TOTALS);
  readonly #models = new Sums<keyof PastTotals>(ZERO_TOTALS);
  readonly #tools = new Sums({ texts: 0, cut: 0, tokens: 0, removed: 0 });
  readonly #misses = new Sums({ requests: 0, tokens: 0, dollars: 0 });
  readonly #marks = new Sums({ count: 0, withCuts: 0, used: 0, lost: 0 });
  readonly #rereads = new Sums({ count: 0, tokens: 0, dollars: 0 });
  readonly #offered = new Set<string>();
  readonly #called = new Set<string>();
  #places = new Map<string, ThreadState>();
  #used = new UsedLines();
  /** Names of the histories of this session. */
  readonly #names = new Map<SessionRequest['history'], string>();

  constructor(prices: Prices) {
    this.#prices = prices;
  }

  /** Bills one request. @param rehearsed - `null` if the request was not sent through the pruner */
  add(request: SessionRequest, rehearsed: Rehearsed | null, { counts, bytesPerToken }: AddOptions): void {
    const place: ThreadState = this.#places.get(request.thread) ?? { known: null, sizes: [], lines: null };
    const { price, fees } = pricing(this.#prices.of(request.model, request.atMs), request, this.#prices);
    const facts = rehearsed?.facts ?? plainFacts(request, this.#nameOf(request.history));
    const bill = billOf(facts, place.known, { price, fees, calibration: 1 });
    const removed = (rehearsed?.cutBytes ?? 0) / bytesPerToken;
    const { sizes } = place;
    if (counts) {
      this.#count(request, bill, rehearsed !== null);
      sizes.push({ tokens: request.usage.input ?? 0, removed, history: request.history });
      if (rehearsed) this.#texts(rehearsed, bytesPerToken, price === null ? 0 : entering(bill.usage, price));
    }
    const lines = rehearsed ? this.#lines(request, rehearsed, place.lines) : place.lines;
    this.#places.set(request.thread, { known: bill.known, sizes, lines });
  }

  end(requests: readonly SessionRequest[], offered: ReadonlySet<string> = new Set()): void {
    for (const { sizes } of this.#places.values()) this.#marks.add('', compactionsOf(sizes));
    this.#marks.add('', { used: this.#used.used, lost: this.#used.lost });
    this.#places = new Map();
    this.#names.clear();
    this.#used = new UsedLines();
    for (const name of offered) this.#offered.add(name);
    for (const history of new Set(requests.map((request) => request.history))) {
      for (const { json, made } of history) {
        if (made) for (const [, name = ''] of json.matchAll(NAMES)) this.#called.add(name);
      }
    }
  }

  report(sinceDay: string): PastReport {
    const byDollars = <T extends PastTotals>(sums: T[]): T[] =>
      sums.sort((a, b) => b.dollars - a.dollars || b.requests - a.requests);
    const models = byDollars(this.#models.entries().map(([model, sum]) => ({ model, ...sum })));
    const marks = this.#marks.of('');
    return {
      sinceDay,
      notes: [...this.#prices.problems, ...unpricedNotes(models)],
      totals: this.#all.of(''),
      projects: byDollars(this.#projects.entries().map(([project, sum]) => ({ project, ...sum }))),
      models,
      tools: this.#tools
        .entries()
        .map(([key, sum]) => ({ tool: key.split('\t')[0] ?? '', kind: key.split('\t')[1] ?? '', ...sum }))
        .sort((a, b) => b.removed - a.removed),
      misses: this.#misses
        .entries()
        .map(([cause, sum]) => ({ cause: cause as MissCause, ...sum }))
        .sort((a, b) => b.dollars - a.dollars),
      compactions: { count: marks.count, withCuts: marks.withCuts },
      rereads: this.#rereads.of(''),
      lines: { used: marks.used, lost: marks.lost },
      offered: {
        count: this.#offered.size,
        neverCalled: [...this.#offered].filter((name) => !this.#called.has(name)).sort(),
      },
    };
  }

  #nameOf(history: SessionRequest['history']): string {
    const name = this.#names.get(history) ?? String(this.#names.size);
    this.#names.set(history, name);
    return name;
  }

  #count(request: SessionRequest, bill: Bill, isRehearsed: boolean): void {
    const dollars = bill.dollars ?? 0;
    const dollarsWith = isRehearsed ? (bill.dollarsWithout ?? 0) : dollars;
    const { fresh, write5m, write1h, read, output } = bill.usage;
    const totals: PastTotals = {
      fresh,
      write5m,
      write1h,
      read,
      output,
      requests: 1,
      unpriced: bill.dollars === null ? 1 : 0,
      estimated: request.shared ? 1 : 0,
      dollars,
      dollarsWithout: dollars,
      dollarsWith,
      saved: dollars - dollarsWith,
      removed: Math.max(0, -bill.removed),
      removedNew: Math.max(0, -bill.removedNew),
    };
    this.#all.add('', totals);
    this.#projects.add(request.project, totals);
    this.#models.add(request.model, totals);
    if (bill.miss === null || request.shared) return;
    this.#misses.add(bill.miss, { requests: 1, tokens: bill.missTokens, dollars: bill.missDollars ?? 0 });
  }

  #texts({ outcomes }: Rehearsed, bytesPerToken: number, newToken: number): void {
    const scale = BYTES_PER_ESTIMATED / bytesPerToken;
    for (const { tool, kind, pruneId, tokensBefore, tokensAfter, whole } of outcomes) {
      if (tokensBefore <= 0) continue;
      const [tokens, removed] = [tokensBefore * scale, (tokensBefore - tokensAfter) * scale];
      this.#tools.add(`${tool}\t${kind}`, { texts: 1, cut: pruneId === null ? 0 : 1, tokens, removed });
      if (whole === 'reread') this.#rereads.add('', { count: 1, tokens, dollars: tokens * newToken });
    }
  }

  #lines(request: SessionRequest, { shown }: Rehearsed, seen: ThreadState['lines']): ThreadState['lines'] {
    const from = seen?.history === request.history ? seen.until : 0;
    for (let i = from; i < request.length; i++) {
      const message = request.history[i];
      if (message === undefined) continue;
      if (message.made) this.#used.addModelMessage(message.json);
      else this.#used.addOtherMessage(message.json, shown(i));
    }
    return { history: request.history, until: Math.max(from, request.length) };
  }
}

/** Average number of bytes per token assumed by the engine. */
const BYTES_PER_ESTIMATED = 4;

interface AddOptions {
  /** Whether the request is in the report; others only precede it in the conversation. */
  readonly counts: boolean;
  readonly bytesPerToken: number;
}

/** Facts of a request of which only the bill is used: its history counts as one message. */
function plainFacts(request: SessionRequest, prefix: string): RequestFacts {
  const { key, thread, atMs, project, wire, model, usage, history, length } = request;
  const answer = history.findIndex(({ made }) => made);
  const isFirst = answer < 0 || answer >= length;
  return {
    requestId: key,
    atMs,
    project,
    wire,
    model,
    usage,
    conversationId: thread,
    arm: 'pruned',
    tools: '',
    system: '',
    bytes: 0,
    texts: [],
    regrets: [],
    messages: [{ prefix, bytes: 0, removed: 0, cuts: '' }],
    cacheUpTo: null,
    fresh: { from: isFirst ? 0 : 1, tokens: 0 },
  };
}
