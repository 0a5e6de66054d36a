import { type Bill, billOf, hasCacheFigures } from '@mcp-pruner/money/bill.ts';
import { answeredFrom, causeOf, follows, shared } from '@mcp-pruner/money/known.ts';
import type { Price, Prices } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import { contentIdOf } from 'mcp-pruner/base/conversation-ids.ts';
import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerState, LedgerSum, Settling } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { RegretFacts, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import {
  branchOf,
  type ConversationState,
  decodeConversation,
  encodeConversation,
  nextState,
  wasCompacted,
} from './conversation-state.ts';
import {
  brokenSums,
  coldSums,
  regretSums,
  repeatSums,
  textSums,
  turnSums,
  unexaminedSums,
  WaitingSums,
} from './figures.ts';
import { ModelScale } from './model-scale.ts';

/** Dependencies of `Billing`. */
export interface BillingOptions {
  readonly prices: Prices;
  readonly onFailure: (reason: string, cause: unknown, about: Readonly<Record<string, string | number>>) => void;
}

/** A billed request, with facts for this process only. */
export interface BilledRequest {
  readonly turn: LedgerTurn;
  /** Price of a new token in dollars. */
  readonly entering: number;
}

/** An in-memory state, with the version of the stored state that it is based on. */
export interface HeldState {
  readonly version: number;
  readonly lineage: string;
  readonly atMs: number;
  readonly value: ConversationState | ModelScale | null;
}

/** Name of a conversation's state. Includes the project, because conversations of two projects may begin alike. */
export function conversationName({ project, conversationId }: RequestFacts): string {
  return `conversation\n${project}\n${conversationId}`;
}

/** Prefix of the names of scales. */
export const SCALE_PREFIX = 'model\n';

/** Name of the scale of a client and model. */
export function scaleName({ client = '', model }: RequestFacts): string {
  return `${SCALE_PREFIX}${client}\n${model}`;
}

/**
 * Bills requests sequentially, from stored states and the states left by preceding requests. Has no outside effects, so
 * that a failed transaction can be repeated with a new instance.
 */
export class Billing {
  readonly billed: BilledRequest[] = [];
  readonly #options: BillingOptions;
  readonly #held: ReadonlyMap<string, HeldState>;
  readonly #sums = new WaitingSums();
  readonly #changed = new Map<string, HeldState>();
  readonly #nowMs: number;
  readonly #newest = new Map<string, { readonly name: string; readonly state: ConversationState }>();

  /** @param held - stored states */
  constructor(
    options: BillingOptions,
    held: ReadonlyMap<string, HeldState>,
    newest: Settling['newest'],
    nowMs: number,
  ) {
    this.#options = options;
    this.#held = held;
    this.#nowMs = Math.trunc(nowMs);
    for (const { name, lineage, data } of newest) {
      const state = decodeConversation(data);
      if (state) this.#newest.set(lineage, { name, state });
    }
  }

  /** Whether the previous request is known, judging by the messages. */
  followsKnown(facts: RequestFacts): boolean {
    if (facts.fresh.from === 0 || facts.conversationId === '') return true;
    const from = branchOf(this.#conversation(conversationName(facts)), facts);
    return from !== null && follows(from, facts) && from.messages.length >= answeredFrom(facts);
  }

  /** Bills a request. Never throws: failures are reported. */
  bill(facts: RequestFacts): void {
    try {
      this.#bill(facts);
    } catch (cause) {
      this.#options.onFailure('not_billed', cause, { requestId: facts.requestId });
    }
  }

  get sums(): readonly LedgerSum[] {
    return this.#sums.take();
  }

  /** Changed states, in the form for memory. */
  get changed(): ReadonlyMap<string, HeldState> {
    return this.#changed;
  }

  states(): LedgerState[] {
    return Array.from(this.#changed, ([name, { version, lineage, atMs, value }]) => {
      const data = value instanceof ModelScale ? value.encode() : value === null ? '' : encodeConversation(value);
      return { name, version, lineage, atMs, data };
    });
  }

  #bill(facts: RequestFacts): void {
    const { prices, onFailure } = this.#options;
    const name = conversationName(facts);
    const state = facts.conversationId === '' ? null : this.#conversation(name);
    const from = branchOf(state, facts);
    const { price, fees } = pricesOf(facts, prices);
    const compacted = state === null && this.#isCompacted(name, facts);
    const hasCache = facts.usage !== null && hasCacheFigures(facts.usage);
    const scaleOf = scaleName(facts);
    const { scale, seen } = this.#scale(scaleOf).after(facts, from, facts.usage?.input ?? null, hasCache);
    this.#change(scaleOf, '', facts.atMs, scale);
    const { calibration, reportsCache } = scale;
    const bill = billOf(facts, from, { price, fees, calibration, reportsCache, compacted });
    if (bill.miss === 'changed_by_us') {
      const about = { requestId: facts.requestId, message: bill.missAt, tokens: bill.missTokens };
      onFailure('prefix_changed', new Error('a message was forwarded with different cuts than before'), about);
    }
    const shadow = facts.shadow === true;
    const isNew = ({ message = facts.messages.length }: { readonly message?: number }): boolean =>
      message >= bill.newFrom;
    const texts = facts.texts.filter(isNew);
    const regrets = facts.regrets.filter(isNew);
    // a repeated request shows the same work again
    const isSeen = facts.work && from !== null && shared(from, facts.messages, false) > facts.work.since;
    const work = isSeen ? undefined : facts.work;
    const turn = turnOf(facts, shadow ? asSent(bill) : bill, regrets, work);
    const would = shadow ? wouldBe(bill) : null;
    const saved = Math.abs((bill.dollarsWithout ?? 0) - (bill.dollars ?? 0));
    const savedDeviation = shadow || saved === 0 ? 0 : scale.deviation * saved;
    const counted = { savedDeviation, would, ...seen };
    const entering = bill.entering ?? 0;
    for (const group of turnSums(turn, texts, counted)) this.#sums.add(group);
    if (bill.aside.dollars !== 0) this.#sums.add(coldSums(facts, { dollars: bill.aside.dollars }));
    if (bill.repeated.dollars !== 0) this.#sums.add(repeatSums(facts, { dollars: bill.repeated.dollars }));
    if (facts.prefixBroken) this.#sums.add(brokenSums(facts, causeOf(from, facts, compacted)));
    if (texts.length > 0) for (const group of textSums(turn, texts, entering)) this.#sums.add(group);
    if (facts.unexamined)
      for (const group of unexaminedSums(turn, facts.unexamined, bill.newFrom)) this.#sums.add(group);
    for (const regret of regrets) this.#sums.add(regretSums(turn, regret, entering));
    this.billed.push({ turn, entering });
    if (facts.conversationId === '') return;
    const value = nextState(state, from, bill.known, facts, entering);
    const { lineage = '', atMs } = facts;
    this.#change(name, lineage, atMs, value);
    if (lineage !== '') this.#newest.set(lineage, { name, state: value });
  }

  /**
   * Versions increase and are at least the current time, so that they are never reused, even after a state was deleted.
   */
  #change(name: string, lineage: string, atMs: number, value: HeldState['value']): void {
    const version = Math.max(this.#nowMs, (this.#held.get(name)?.version ?? 0) + 1);
    this.#changed.set(name, { version, lineage, atMs, value });
  }

  #isCompacted(name: string, facts: RequestFacts): boolean {
    const before = this.#newest.get(facts.lineage ?? '');
    if (before === undefined || before.name === name) return false;
    // conversations with the same first words share a message without being compacted
    const isAlike = contentIdOf(before.name) === contentIdOf(name);
    return wasCompacted(before.state, isAlike ? { ...facts, newest: [] } : facts);
  }

  #conversation(name: string): ConversationState | null {
    const value = (this.#changed.get(name) ?? this.#held.get(name))?.value ?? null;
    return value instanceof ModelScale ? null : value;
  }

  #scale(name: string): ModelScale {
    const value = (this.#changed.get(name) ?? this.#held.get(name))?.value;
    return value instanceof ModelScale ? value : new ModelScale();
  }
}

/**
 * The price of a request as it was served, and its fees; `null` if the model has none. With a budget, the model that
 * answered counts next, then the cost that the answer reports, then the ceiling.
 */
function pricesOf(facts: RequestFacts, prices: Prices): ReturnType<typeof pricing> {
  const { model, atMs, cloud, metered, usage } = facts;
  const priceOf = (name: string): Price | null => prices.of(name, atMs, cloud);
  const price = priceOf(model);
  if (price !== null || metered === undefined) return pricing(price, facts, prices);
  const answered = priceOf(metered.model);
  if (answered !== null) return pricing(answered, { model: metered.model, usage }, prices);
  return pricing(usage?.cost === undefined ? prices.ceiling() : null, facts, prices);
}

/** Converts the bill of a shadow-mode request, which was forwarded whole. */
function asSent(bill: Bill): Bill {
  return { ...bill, without: bill.usage, dollarsWithout: bill.dollars, removed: 0, removedNew: 0 };
}

function wouldBe({ removed, dollars, dollarsWithout }: Bill): { readonly removed: number; readonly dollars: number } {
  return { removed: -removed, dollars: (dollars ?? 0) - (dollarsWithout ?? 0) };
}

function turnOf(
  facts: RequestFacts,
  bill: Bill,
  regrets: readonly RegretFacts[],
  work: LedgerTurn['work'],
): LedgerTurn {
  const { requestId, atMs, project, conversationId, wire, cloud, keyId, client, model, arm, odd } = facts;
  const { estimated, dollars, dollarsWithout, removed, removedNew, miss, missTokens, missDollars, missAt } = bill;
  const { fresh, write5m, write1h, read, output } = bill.usage;
  const regretTokens = regrets.reduce((sum, { tokens }) => sum + tokens, 0);
  const regretDollars = bill.entering === null ? null : regretTokens * bill.entering;
  // one literal, because objects built with spreads take several times the memory
  return {
    requestId,
    atMs,
    project,
    conversationId,
    wire,
    cloud,
    keyId,
    client,
    model,
    arm,
    fresh,
    write5m,
    write1h,
    read,
    output,
    estimated,
    odd,
    dollars,
    dollarsWithout,
    removed,
    removedNew,
    miss,
    missTokens,
    missDollars,
    missAt,
    regretTokens,
    regretDollars,
    work,
  };
}
