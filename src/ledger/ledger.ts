import { LRUCache } from 'lru-cache';
import type {
  LedgerReader,
  LedgerReport,
  LedgerSink,
  LedgerStore,
  LedgerTurn,
  RegretFacts,
  RequestFacts,
} from '../core/ports/ledger.ts';
import type { StoredPrune } from '../core/ports.ts';
import type { TellFailure } from '../failures.ts';
import { WriteBehind, writeInParts } from '../write-behind.ts';
import { type Bill, billOf, entering, hasCacheFigures } from './bill.ts';
import { bounded, Calibration } from './calibration.ts';
import { dayOf } from './days.ts';
import { type Guess, KIND_MARK, regretSums, stepSums, textSums, turnSums } from './figures.ts';
import { type Known, shared } from './known.ts';
import type { Learner } from './learning.ts';
import { inputOf, type Prices } from './prices.ts';
import { reportOf } from './report.ts';
import { WaitingSums } from './waiting-sums.ts';

export interface LedgerOptions {
  readonly store: LedgerStore;
  readonly prices: Prices;
  readonly clock: { nowMs(): number };
  readonly onFailure: TellFailure;
  /** What is cut under an id, and the conversation that it was cut in, as far as that is known. */
  readonly findPrune?: (pruneId: string) => Promise<StoredPrune | null>;
  readonly conversationOf?: (pruneId: string) => string;
  /** Learns from what is regretted; without it nobody does. */
  readonly learner?: Learner;
  /** Told of each request that was billed, for counters. */
  readonly onBilled?: (turn: LedgerTurn) => void;
}

/** Accounts wait so long to be written together: who asks for them has them written first. */
const WRITE_MS = 3_000;
/** Requests that wait to be written at most; past it new ones are left out. */
const MAX_TURNS = 5_000;
/** Messages of remembered conversations in all. */
const MAX_MESSAGES = 400_000;
/** Newest requests of one conversation that may be gone on from: agents branch off. */
const MAX_BRANCHES = 4;
/** New tokens below which a request says nothing about how well tokens are estimated. */
const MIN_GUESSED = 200;
/** One request says so much at the most: a stray figure must not turn the scale. */
const MAX_GUESSED = 20_000;
/** Texts whose regret is remembered, so that each counts once. */
const MAX_REGRETTED = 10_000;
const DAYS_OF_CALIBRATION = 30;
const MAX_CONVERSATIONS = 10_000;
const DAY_MS = 86_400_000;

interface Remembered {
  readonly branches: readonly Known[];
  readonly project: string;
  /** Dollars of a new token in its last request. */
  readonly entering: number;
}

/**
 * Bills requests as they end and keeps what they came to, a moment later. Nothing waits for it, and what it cannot write
 * is lost and told, never the request.
 */
export class Ledger implements LedgerSink, LedgerReader {
  readonly #options: LedgerOptions;
  readonly #conversations = new LRUCache<string, Remembered>({
    maxSize: MAX_MESSAGES,
    sizeCalculation: ({ branches }) => 1 + branches.reduce((sum, { messages }) => sum + messages.length, 0),
  });
  /** Tokens reported and estimated by model, as far as it is known here. */
  readonly #counted = new LRUCache<string, { reported: number; guessed: number }>({ max: 200 });
  readonly #byKind = new LRUCache<string, Calibration>({ max: 200, memoMethod: () => new Calibration() });
  /** Tokens cut by model, by the provider's count and estimated. */
  readonly #checked = new LRUCache<string, NonNullable<Bill['checked']>>({ max: 200 });
  /** Models whose provider has reported cache figures. */
  readonly #reporting = new LRUCache<string, true>({ max: 1_000 });
  /** Prune ids of texts that were regretted. */
  readonly #regretted = new LRUCache<string, true>({ max: MAX_REGRETTED });
  #turns: LedgerTurn[] = [];
  readonly #sums = new WaitingSums();
  #unfinished = new Set<Promise<void>>();
  readonly #behind = new WriteBehind(() => this.#write(), WRITE_MS);

  constructor(options: LedgerOptions) {
    this.#options = options;
  }

  /** Takes over what is known of how well tokens are estimated. Never rejects. */
  async start(): Promise<void> {
    const { store, clock, onFailure } = this.#options;
    try {
      const sums = await store.sums({
        sinceDay: dayOf(clock.nowMs() - DAYS_OF_CALIBRATION * DAY_MS),
        slice: 'model',
      });
      const kinds = new Map<string, { model: string; kind: string; reported: number; guessed: number }>();
      for (const { slice, key, field, value } of sums) {
        if (slice !== 'model') continue;
        const [name = '', kind] = field.split(KIND_MARK, 2);
        if (kind !== undefined) {
          const of = kinds.get(`${key}\0${kind}`) ?? { model: key, kind, reported: 0, guessed: 0 };
          if (name === 'reported' || name === 'guessed') of[name] += value;
          kinds.set(`${key}\0${kind}`, of);
        }
        if (field === 'cacheReported' && value > 0) this.#reporting.set(key, true);
        if (field === 'checkedExact') this.#check(key, { exact: value, estimated: 0 });
        if (field === 'checkedEstimated') this.#check(key, { exact: 0, estimated: value });
        if (field !== 'reported' && field !== 'guessed') continue;
        const counted = this.#counted.get(key) ?? { reported: 0, guessed: 0 };
        counted[field] += value;
        this.#counted.set(key, counted);
      }
      for (const { model, kind, reported, guessed } of kinds.values())
        this.#byKind.memo(model).know(kind, reported, guessed);
    } catch (cause) {
      onFailure('calibration_not_read', cause);
    }
  }

  request(facts: RequestFacts): void {
    try {
      this.#bill(facts);
      this.#behind.soon(this.#turns.length);
    } catch (cause) {
      this.#options.onFailure('not_billed', cause, { requestId: facts.requestId });
    }
  }

  recovered(pruneId: string, tokens: number): void {
    const { findPrune, conversationOf, onFailure, clock } = this.#options;
    if (!findPrune || this.#unfinished.size >= MAX_TURNS) return;
    const from = this.#conversations.peek(conversationOf?.(pruneId) ?? '');
    const noted = Promise.all([findPrune(pruneId), from ?? this.#forgotten(pruneId)]).then(
      ([prune, { project, entering }]) => {
        if (!prune) return;
        const { tool, kind, boldness } = prune.decision;
        const about = { atMs: clock.nowMs(), project };
        const regret: RegretFacts = { how: 'recovered', tool, kind, tokens, pruneId, boldness: boldness?.number ?? 0 };
        this.#sums.add(regretSums(about, regret, entering));
        this.#regret(about, regret);
        const fields = { regretTokens: tokens, regretDollars: tokens * entering };
        this.#sums.add({ day: dayOf(about.atMs), project: about.project, slice: 'all', key: '', fields });
        this.#behind.soon();
      },
      (cause: unknown) => onFailure('regret_not_noted', cause),
    );
    this.#unfinished.add(noted);
    void noted.finally(() => this.#unfinished.delete(noted));
  }

  /** Whose a text is that was cut in a conversation that is not remembered here, and what a new token cost there last. */
  async #forgotten(pruneId: string): Promise<Pick<Remembered, 'project' | 'entering'>> {
    const place = await this.#options.store.cutIn(pruneId);
    const newest = place?.newest ?? null;
    const price = newest && this.#options.prices.of(newest.model, newest.atMs);
    return { project: place?.project ?? 'default', entering: newest && price ? entering(newest, price) : 0 };
  }

  async report(query: { readonly sinceDay: string; readonly project?: string }): Promise<LedgerReport> {
    await this.#behind.flush();
    return this.reportOf(this.#options.store, query);
  }

  /** The report of what another view of the store holds, by the prices of this ledger. */
  reportOf(store: LedgerStore, query: { readonly sinceDay: string; readonly project?: string }): Promise<LedgerReport> {
    return readReport(store, query, this.#options.prices.problems);
  }

  async turns(query: Parameters<LedgerStore['turns']>[0]): ReturnType<LedgerStore['turns']> {
    await this.#behind.flush();
    return this.#options.store.turns(query);
  }

  /** Writes what waits. Never rejects. */
  async flush(): Promise<void> {
    await Promise.all(this.#unfinished);
    await this.#behind.flush();
  }

  #bill(facts: RequestFacts): void {
    const { prices, onFailure, onBilled } = this.#options;
    const remembered = this.#conversations.get(facts.conversationId);
    const known = newest(remembered, facts);
    const price = prices.of(facts.model, facts.atMs);
    const calibration = this.#calibration(facts.model);
    const removedScale = this.#removedScale(facts.model, calibration);
    const reportsCache = this.#reportsCache(facts);
    const bill = billOf(facts, known, { price, calibration, removedScale, reportsCache });
    if (bill.miss === 'changed_by_us') {
      const about = { requestId: facts.requestId, message: bill.missAt, tokens: bill.missTokens };
      onFailure('prefix_changed', new Error('a message was forwarded with other cuts than before'), about);
    }
    const shadow = facts.shadow === true;
    const turn = turnOf(facts, shadow ? asSent(bill) : bill);
    const checkFailure = facts.counted && bill.checked === null ? facts.counted.failure || 'no_usage' : '';
    const guess = this.#count(facts, bill, known);
    const counted = {
      ...guess,
      checked: bill.checked,
      checkFailure,
      reportsCache,
      would: shadow ? wouldBe(bill) : null,
    };
    if (bill.checked) this.#check(facts.model, bill.checked);
    for (const group of turnSums(turn, facts.texts, counted)) this.#sums.add(group);
    for (const group of textSums(turn, facts.texts, bill.entering ?? 0)) this.#sums.add(group);
    if (this.#options.learner) {
      for (const text of facts.texts) if (text.cut) this.#sums.add(stepSums(turn, text, 'cut'));
    }
    for (const regret of facts.regrets) {
      this.#sums.add(regretSums(turn, regret, bill.entering ?? 0));
      this.#regret(turn, regret);
    }
    if (this.#turns.length < MAX_TURNS) this.#turns.push(turn);
    if (facts.conversationId !== '') {
      const others = (remembered?.branches ?? []).filter((other) => other !== known).slice(0, MAX_BRANCHES - 1);
      const branches = [bill.known, ...others];
      this.#conversations.set(facts.conversationId, { branches, project: facts.project, entering: bill.entering ?? 0 });
    }
    onBilled?.(turn);
  }

  /** Takes note that a text was regretted, each but once. */
  #regret(about: Pick<LedgerTurn, 'atMs' | 'project'>, regret: RegretFacts): void {
    if (!this.#options.learner || this.#regretted.has(regret.pruneId)) return;
    this.#regretted.set(regret.pruneId, true);
    this.#sums.add(stepSums(about, regret, 'regretted'));
  }

  /** Whether the provider has reported cache figures for this model, in this answer or in an earlier one. */
  #reportsCache({ model, usage }: RequestFacts): boolean {
    if (usage !== null && hasCacheFigures(usage)) this.#reporting.set(model, true);
    return this.#reporting.has(model);
  }

  #calibration(model: string): number {
    const { reported = 0, guessed = 0 } = this.#counted.get(model) ?? {};
    return guessed < 10 * MIN_GUESSED || reported <= 0 ? 1 : bounded(reported / guessed);
  }

  /**
   * Tokens of the provider for each cut token that was estimated: by its own counts once it counted enough of them, else as
   * what is shown of the same kind of text comes to.
   */
  #removedScale(model: string, calibration: number): (kind: string) => number {
    const { exact = 0, estimated = 0 } = this.#checked.get(model) ?? {};
    if (estimated >= 10 * MIN_GUESSED && exact > 0) {
      const counted = bounded(exact / estimated);
      return () => counted;
    }
    const byKind = this.#byKind.get(model);
    return (kind) => byKind?.ratioOf(kind) ?? calibration;
  }

  #check(model: string, { exact, estimated }: NonNullable<Bill['checked']>): void {
    const known = this.#checked.get(model) ?? { exact: 0, estimated: 0 };
    this.#checked.set(model, { exact: known.exact + exact, estimated: known.estimated + estimated });
  }

  /** What a request says of how well tokens are estimated: of what is new in it, and no answer of the model's. */
  #count({ fresh, model, arm }: RequestFacts, bill: Bill, known: Known | null): Guess {
    const nothing = { reported: 0, guessed: 0 };
    if (known === null || bill.estimated || fresh.tokens < MIN_GUESSED) return nothing;
    if (known.messages.length < fresh.from - 1 || known.messages.length > fresh.from) return nothing;
    const reported = inputOf(bill.usage) - known.tokens - known.output;
    // thinking that is not sent back, and clients that change what was said before, show as something else
    if (reported < fresh.tokens / 4 || reported > fresh.tokens * 4) return nothing;
    const share = Math.min(1, MAX_GUESSED / fresh.tokens);
    const told = { reported: reported * share, guessed: fresh.tokens * share };
    const counted = this.#counted.get(model) ?? { ...nothing };
    counted.reported += told.reported;
    counted.guessed += told.guessed;
    this.#counted.set(model, counted);
    if (!fresh.kinds || arm === 'control') return told;
    return { ...told, kinds: { reported: this.#byKind.memo(model).see(fresh.kinds, reported), guessed: fresh.kinds } };
  }

  async #write(): Promise<void> {
    const turns = this.#turns;
    this.#turns = [];
    const sums = this.#sums.take();
    const { store, learner, onFailure } = this.#options;
    let unwritten = turns.length;
    try {
      await writeInParts(sums, (some) => store.add([], some));
      await writeInParts(turns, async (some) => {
        await store.add(some, []);
        unwritten -= some.length;
      });
    } catch (cause) {
      onFailure('ledger_not_written', cause, { requests: unwritten });
      return;
    }
    await learner?.look();
  }
}

/**
 * The report of what a store holds.
 *
 * @param problems - what is wrong with the prices that are in use
 */
export async function readReport(
  store: LedgerStore,
  query: { readonly sinceDay: string; readonly project?: string },
  problems: readonly string[] = [],
): Promise<LedgerReport> {
  const { sinceDay, ...of } = query;
  const [sums, conversations, steps] = await Promise.all([
    store.sums(query),
    store.conversations({ ...of, sinceMs: Date.parse(sinceDay), limit: MAX_CONVERSATIONS }),
    store.steps(),
  ]);
  return reportOf(query, sums, conversations, steps, problems);
}

/** The remembered request that a new one goes on from: the one that it shares most with. */
function newest(remembered: Remembered | undefined, facts: RequestFacts): Known | null {
  const [only, ...others] = remembered?.branches ?? [];
  if (only && others.length === 0) return only;
  let best: Known | null = null;
  let most = -1;
  for (const known of remembered?.branches ?? []) {
    const common = shared(known, facts.messages, false);
    if (common > most) [best, most] = [known, common];
  }
  return best;
}

/** The bill of a request that went out whole, without what was only looked at. */
function asSent(bill: Bill): Bill {
  return { ...bill, without: bill.usage, dollarsWithout: bill.dollars, removed: 0, removedNew: 0 };
}

function wouldBe({ removed, dollars, dollarsWithout }: Bill): { readonly removed: number; readonly dollars: number } {
  return { removed: -removed, dollars: (dollars ?? 0) - (dollarsWithout ?? 0) };
}

function turnOf(facts: RequestFacts, bill: Bill): LedgerTurn {
  const regretTokens = facts.regrets.reduce((sum, { tokens }) => sum + tokens, 0);
  return {
    requestId: facts.requestId,
    atMs: facts.atMs,
    project: facts.project,
    conversationId: facts.conversationId,
    wire: facts.wire,
    model: facts.model,
    arm: facts.arm,
    estimated: bill.estimated,
    ...bill.usage,
    dollars: bill.dollars,
    dollarsWithout: bill.dollarsWithout,
    removed: bill.removed,
    removedNew: bill.removedNew,
    miss: bill.miss,
    missTokens: bill.missTokens,
    missDollars: bill.missDollars,
    missAt: bill.missAt,
    regretTokens,
    regretDollars: bill.entering === null ? null : regretTokens * bill.entering,
  };
}
