import type { LedgerSum, Settled, SettleQuery, Settling, WaitingRequest } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { MessageFacts, RequestFacts } from 'mcp-pruner/core/ports/request-facts.ts';
import {
  type BilledRequest,
  Billing,
  type BillingOptions,
  conversationName,
  type HeldState,
  SCALE_PREFIX,
  scaleName,
} from './billing.ts';
import { decodeConversation, type Packed, packRows, unpackRows } from './conversation-state.ts';
import { ModelScale } from './model-scale.ts';

/** Maximum wait of a request for its predecessor, in milliseconds; longer than processes keep requests in memory. */
export const SETTLE_MS = 2_500;
/** Lineage of the processes' heartbeat states. */
export const PROCESSES = 'process';
/** A process without a heartbeat for this long counts as ended. */
export const ALIVE_MS = 86_400_000;
/** Interval of a process's heartbeats. They carry the time of the next one, so that they are never among the oldest states. */
export const ALIVE_EVERY_MS = 3_600_000;
const HEARTBEAT_VERSION = 1;
/** Format version of waiting requests. Other formats are billed by the version that wrote them. */
const FORMAT_VERSION = 3;

export interface SettlementParts {
  readonly own: readonly RequestFacts[];
  /** Further figures to write. */
  readonly sums: readonly LedgerSum[];
  readonly held: { peek(name: string): HeldState | undefined };
  readonly nowMs: number;
  /** Name of this process's heartbeat, and whether the last one is recent. */
  readonly process: string;
  readonly isAlive: boolean;
  /** Bills no other request of those that wait in the store. */
  readonly only?: string;
  /** Removes `only` unbilled, because the store refuses its bill. */
  readonly drops?: boolean;
  /** Whether this is the last transaction of the process. */
  readonly last: boolean;
  readonly billing: Omit<BillingOptions, 'onFailure'>;
}

/** Reason of a failure: a request was lost, because its row cannot be read or written. */
export const ROW_DROPPED = 'ledger_row_dropped';

interface Failure {
  readonly reason: string;
  readonly cause: unknown;
  readonly about: Readonly<Record<string, string | number>>;
}

/** The outcome of a committed transaction. */
export interface SettleResult {
  readonly billed: readonly BilledRequest[];
  readonly states: ReadonlyMap<string, HeldState>;
  readonly failures: readonly Failure[];
  /** Number of requests waiting in the store. */
  readonly waiting: number;
  /** Number of requests removed from the store unbilled. */
  readonly dropped: number;
}

/** A request to bill; `sinceMs` is `null` if it is not in the store. */
interface Open {
  readonly facts: RequestFacts;
  readonly sinceMs: number | null;
}

/**
 * Bills requests of this process, and requests waiting in the store, in the order in which they ended. If other
 * processes use the store, a request whose predecessor is unknown waits in the store until another process bills the
 * predecessor.
 */
export class Settlement {
  readonly #parts: SettlementParts;
  #result: SettleResult | null = null;
  /** Ids of the requests that waited in the store, even if the transaction failed. */
  waitingIds: readonly string[] = [];

  constructor(parts: SettlementParts) {
    this.#parts = parts;
  }

  get query(): SettleQuery {
    const { own, held, process: name, nowMs } = this.#parts;
    const states = new Map<string, number>();
    const lineages = new Set<string>();
    const requestIds: string[] = [];
    for (const facts of own) {
      for (const of of [conversationName(facts), scaleName(facts)])
        if (!states.has(of)) states.set(of, held.peek(of)?.version ?? 0);
      const { lineage = '', fresh, requestId } = facts;
      if (lineage !== '' && fresh.from <= 2) lineages.add(lineage);
      requestIds.push(requestId);
    }
    const process = { name, lineage: PROCESSES, aliveFromMs: Math.trunc(nowMs) - ALIVE_MS };
    states.set(name, HEARTBEAT_VERSION);
    return { states, lineages: [...lineages], requestIds, process };
  }

  /** See `SettleWork`. */
  work(settling: Settling): Settled {
    const { own, sums, nowMs, process, isAlive, last, only, drops = false, billing: options } = this.#parts;
    const failures: Failure[] = [];
    const onFailure = (reason: string, cause: unknown, about: Failure['about']): void => {
      failures.push({ reason, cause, about });
    };
    const billing = new Billing({ ...options, onFailure }, this.#states(settling), settling.newest, nowMs);
    this.waitingIds = settling.waiting.map(({ requestId }) => requestId);
    const removed = drops && only !== undefined ? [only] : [];
    const stored = settling.waiting.flatMap((one): Open[] => {
      if (only !== undefined && (drops || one.requestId !== only)) return [];
      try {
        const facts = decodeFacts(one.data);
        return facts ? [{ facts, sinceMs: one.sinceMs }] : [];
      } catch (cause) {
        removed.push(one.requestId);
        failures.push({ reason: ROW_DROPPED, cause, about: { requests: 1 } });
        return [];
      }
    });
    const open: Open[] = stored;
    for (const facts of own) if (!settling.seen.has(facts.requestId)) open.push({ facts, sinceMs: null });
    if (!isInOrder(open)) open.sort((a, b) => a.facts.atMs - b.facts.atMs);
    const mayWait = ({ sinceMs }: Open): boolean => sinceMs === null || nowMs - sinceMs < SETTLE_MS;
    const left = new Set(settling.others ? billInOrder(billing, open, mayWait) : []);
    if (!settling.others) for (const { facts } of open) billing.bill(facts);
    const waits: WaitingRequest[] = [];
    const ended = [...removed];
    for (const one of open) {
      if (one.sinceMs !== null && !left.has(one)) ended.push(one.facts.requestId);
      else if (one.sinceMs === null && left.has(one)) waits.push(waitingOf(one.facts, nowMs));
    }
    const heartbeat = {
      name: process,
      lineage: PROCESSES,
      atMs: nowMs + ALIVE_EVERY_MS,
      version: HEARTBEAT_VERSION,
      data: '',
    };
    const beats = !last && !(isAlive && settling.unchanged.has(process));
    this.#result = {
      billed: billing.billed,
      states: billing.changed,
      failures,
      waiting: only === undefined ? left.size : settling.waiting.length,
      dropped: removed.length,
    };
    return {
      turns: billing.billed.map(({ turn }) => turn),
      sums: [...sums, ...billing.sums],
      states: beats ? [...billing.states(), heartbeat] : billing.states(),
      removed: last ? [process] : [],
      waits,
      billed: ended,
    };
  }

  get result(): SettleResult | null {
    return this.#result;
  }

  /** Stored states: the returned ones, and in-memory ones with an unchanged version. */
  #states({ states, unchanged }: Settling): Map<string, HeldState> {
    const known = new Map<string, HeldState>();
    for (const name of unchanged) {
      const held = this.#parts.held.peek(name);
      if (held) known.set(name, held);
    }
    for (const { name, version, lineage, atMs, data } of states) {
      const value = name.startsWith(SCALE_PREFIX) ? ModelScale.decode(data) : decodeConversation(data);
      known.set(name, { version, lineage, atMs, value });
    }
    return known;
  }
}

function isInOrder(open: readonly Open[]): boolean {
  let last = Number.NEGATIVE_INFINITY;
  for (const { facts } of open) {
    if (facts.atMs < last) return false;
    last = facts.atMs;
  }
  return true;
}

/**
 * Bills requests that follow a known one; if there are none, the oldest overdue one. @returns requests that keep
 * waiting
 */
function billInOrder(billing: Billing, open: readonly Open[], mayWait: (one: Open) => boolean): readonly Open[] {
  let left = open;
  while (left.length > 0) {
    const later = left.filter(({ facts }) => {
      const isNext = billing.followsKnown(facts);
      if (isNext) billing.bill(facts);
      return !isNext;
    });
    const due = later.length === left.length ? later.find((one) => !mayWait(one)) : undefined;
    if (due === undefined && later.length === left.length) break;
    if (due !== undefined) billing.bill(due.facts);
    left = later.filter((one) => one !== due);
  }
  return left;
}

function namesOf(facts: RequestFacts): string[] {
  return [conversationName(facts), scaleName(facts)];
}

function waitingOf(facts: RequestFacts, sinceMs: number): WaitingRequest {
  const { requestId, lineage = '' } = facts;
  return { requestId, sinceMs, names: namesOf(facts), lineage, data: encodeFacts(facts) };
}

interface StoredFacts extends Omit<RequestFacts, 'messages'> {
  readonly form: number;
  readonly messages: Packed;
}

/** A request as text; inverse of `decodeFacts`. */
export function encodeFacts({ messages, ...facts }: RequestFacts): string {
  const stored: StoredFacts = { form: FORMAT_VERSION, ...facts, messages: packRows(messages) };
  return JSON.stringify(stored);
}

/** Inverse of `encodeFacts`; `null` for another format version. */
export function decodeFacts(data: string): RequestFacts | null {
  const { form, messages, ...facts } = JSON.parse(data) as StoredFacts;
  if (form !== FORMAT_VERSION) return null;
  return { ...facts, messages: unpackRows<MessageFacts>(messages) };
}
