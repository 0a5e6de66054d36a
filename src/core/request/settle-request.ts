import type { RenderOptions } from '../../engine/text/render.ts';
import { StoreUnavailable } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import { type Settled, settleTexts } from '../decide/for-request.ts';
import type { Turns } from '../decide/turns.ts';
import { reasonOf } from '../failure-reason.ts';
import type { Ownership } from '../ownership.ts';
import type { SentMessage } from '../ports/sent.ts';
import type { Decision, NewDecision, Store } from '../ports.ts';
import type { SentMemory } from '../sent/memory.ts';
import { adoptRecords, lostOriginals } from '../sent/past.ts';
import { PastUnknown } from '../sent/past-unknown.ts';
import { recordsOf } from '../sent/record.ts';
import { mayBeCut, wholeRecord } from '../sent/whole.ts';
import { TIMED_OUT, within } from '../within.ts';
import type { FoundText } from './find-texts.ts';
import { inTurn, type PreparedRequest } from './prepare-request.ts';
import { type Spliced, splice } from './splice.ts';

/** What became of a request's texts. */
export interface SettledRequest {
  /** The request, with what it adopted of another process that sent the same messages first. */
  readonly prepared: PreparedRequest;
  readonly decisionOf: (text: FoundText) => Decision | null;
  readonly fallbacks: readonly string[];
  readonly result: Spliced;
  /** Nothing new was decided, for the store could not serve. */
  readonly failed: boolean;
}

export interface SettleOptions {
  readonly store: Store;
  readonly decisions: DecisionMaker;
  readonly render: RenderOptions;
  readonly sent: SentMemory;
  readonly turns: Turns;
  /** Where originals belong to projects. */
  readonly owners?: Ownership | undefined;
  readonly onFailure: FailureReporter;
}

const NOTHING = (): null => null;

/** Decides about what is new in requests and makes it durable, together with what is about to be sent. */
export class Settler {
  readonly #options: SettleOptions;

  constructor(options: SettleOptions) {
    this.#options = options;
  }

  /**
   * Decides, and makes the decisions durable with what is about to be sent. Where deciding or writing fails, new texts stay
   * whole, and recorded cuts are replayed all the same.
   *
   * @param failure - why the store cannot be asked; `null` when it can
   * @throws PastUnknown where the request asks for that
   */
  async settle(prepared: PreparedRequest, failure: unknown = null): Promise<SettledRequest> {
    if (failure !== null) return this.newWhole(prepared, failure);
    const { found, known, bound } = prepared;
    if (found.length === 0 && !(bound && wholeRecords(prepared).length > 0)) {
      const result = this.#splice(prepared, NOTHING);
      return { prepared, decisionOf: NOTHING, fallbacks: [], result, failed: false };
    }
    let isWriting = false;
    try {
      const lost = await lostOriginals(found, known.sent, this.#options.store);
      const settled = await this.#decide(prepared);
      isWriting = true;
      if (settled) return await this.#makeDurable(prepared, settled, lost);
      const whole = this.newWhole(prepared, TIMED_OUT);
      if (!bound) return whole;
      const replayed = { results: known.sent, fresh: [], fallbacks: whole.fallbacks };
      return { ...(await this.#makeDurable(prepared, replayed, lost, 'timeout')), failed: true };
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      // it went away under way, perhaps with what was to be written
      const mayBeWritten = isWriting && (cause.reason === 'unreachable' || cause.mayBeDone);
      if (mayBeWritten && prepared.unknownPast === 'refuse') throw new PastUnknown(cause);
      return this.newWhole(prepared, cause);
    }
  }

  /** Decisions about the texts of a request; `null` where they take too long. */
  #decide({ found, known, read, project }: PreparedRequest): Promise<Settled | null> {
    const { decisions, onFailure } = this.#options;
    const settlers = { store: this.#asSeenBy(project), decisions, sent: known.sent, past: known.past };
    const settling = settleTexts(found, read.outcomesBefore, decisions.deadline(), settlers);
    return within(settling, decisions.patienceMs, (cause) => onFailure('decided_too_late', cause));
  }

  /** A marker of another project's is one that nobody knows. */
  #asSeenBy(project: string): Pick<Store, 'wasServed' | 'knownPruneIds'> {
    const { store, owners } = this.#options;
    if (owners === undefined) return store;
    return {
      wasServed: (hashes) => store.wasServed(hashes),
      knownPruneIds: async (ids) => store.knownPruneIds(await owners.among(project, ids)),
    };
  }

  /** What was sent before is sent again, and what is new stays whole. */
  newWhole(prepared: PreparedRequest, cause: unknown): SettledRequest {
    const { known } = prepared;
    const decisionOf = (text: FoundText): Decision | null => known.sent.get(text) ?? null;
    if (prepared.bound) this.#options.sent.add(wholeRecords(prepared));
    const reason = cause === TIMED_OUT ? 'timeout' : reasonOf(cause);
    this.#options.onFailure(reason, cause);
    const result = this.#splice(prepared, decisionOf, reason);
    return { prepared, decisionOf, fallbacks: [reason], result, failed: true };
  }

  /**
   * What was answered already as it must have been cut when it was new, for a provider that refused it whole while the store
   * cannot be asked. A provider that takes it has shown that it was sent so: whoever did has stored the originals. What no
   * answer stands behind stays whole.
   */
  async settlePast(prepared: PreparedRequest, cause: unknown): Promise<SettledRequest> {
    const { known, found, read } = prepared;
    const past = found.filter((text) => text.skip === '' && text.messageIndex < read.tail);
    const decided = await this.#decideDry(past);
    const decisionOf = (text: FoundText): Decision | null => known.sent.get(text) ?? decided.get(text) ?? null;
    const { result, records } = this.#spliceAndRecord(prepared, decisionOf);
    this.#options.sent.add(records);
    return { prepared, decisionOf, fallbacks: [reasonOf(cause)], result, failed: true };
  }

  /** What would be cut, all of it new. */
  async settleDry(prepared: PreparedRequest): Promise<Spliced> {
    const decided = await this.#decideDry(prepared.found.filter(({ skip }) => skip === ''));
    return this.#splice(prepared, (text) => decided.get(text) ?? null);
  }

  async #decideDry(texts: readonly FoundText[]): Promise<Map<FoundText, Decision>> {
    const decisions = await this.#options.decisions.decideDry(texts.map(({ job }) => job));
    return new Map(
      texts.flatMap((text, i): [FoundText, Decision][] => {
        const decision = decisions[i];
        return decision ? [[text, decision]] : [];
      }),
    );
  }

  /**
   * Commits decisions and records. Of two processes that decided about the same message the first commit wins: the other
   * one adopts its decisions and its records.
   *
   * @throws StoreUnavailable when nothing was stored
   */
  async #makeDurable(
    prepared: PreparedRequest,
    { results, fresh, fallbacks }: Settled,
    lost: readonly NewDecision[],
    unsettled?: string,
  ): Promise<SettledRequest> {
    const { decisions, turns, sent, owners } = this.#options;
    const { body, read, known, isOver } = prepared;
    let request = prepared;
    const final = new Map(results);
    const decisionOf = (text: FoundText): Decision | null => final.get(text) ?? null;
    const unique = new Map([...lost, ...fresh].map((one) => [one.decision.key, one]));
    const attempt = () => inTurn(turns, body.length, () => this.#spliceAndRecord(prepared, decisionOf, unsettled));
    let made = await attempt();
    if (isOver?.()) throw TIMED_OUT;
    const owner = owners && prepared.project;
    let stored = await decisions.makeDurable([...unique.values()], made.records, read.conversationId, owner);
    owners?.remember(prepared.project, cutIn(unique.values(), stored.refused));
    if (stored.instead.size + stored.refused.size > 0) {
      for (const [text, { key }] of final) {
        if (known.sent.has(text)) continue; // it went out: that holds
        const other = stored.instead.get(key);
        if (other) final.set(text, other);
        else if (stored.refused.has(key)) final.delete(text);
      }
      made = await attempt();
      stored = await decisions.makeDurable([], made.records, read.conversationId);
    }
    if (stored.sentBefore.length > 0) {
      const adopted = adoptRecords(prepared, await sent.reread(stored.sentBefore));
      for (const [text, decision] of adopted.known.sent) final.set(text, decision);
      made = this.#spliceAndRecord(adopted, decisionOf, unsettled);
      request = adopted;
    }
    if (isOver?.()) throw TIMED_OUT; // the caller has stopped waiting and sent something else
    sent.add(made.records);
    return { prepared: request, decisionOf, fallbacks, result: made.result, failed: false };
  }

  #spliceAndRecord(
    prepared: PreparedRequest,
    decisionOf: (text: FoundText) => Decision | null,
    unsettled?: string,
  ): { readonly result: Spliced; readonly records: SentMessage[] } {
    const { read, known, found } = prepared;
    const result = this.#splice(prepared, decisionOf, unsettled);
    const open = found.map((text) => (known.sent.has(text) ? null : text));
    const outcomes = result.outcomes.slice(read.outcomesBefore.length);
    const prefixOf = (index: number): string => read.prefixes[index] ?? '';
    const cut = recordsOf(open, outcomes, decisionOf, prefixOf, this.#options.render);
    const records = [...cut, ...wholeRecords(prepared, new Set(cut.map(({ prefix }) => prefix)))];
    return { result, records: [...records, ...byResultKey(records, read.resultKeys)] };
  }

  #splice(
    { body, read: { editsBefore, outcomesBefore }, found }: PreparedRequest,
    decisionOf: (text: FoundText) => Decision | null,
    unsettled?: string,
  ): Spliced {
    return splice(body, { found, editsBefore, outcomesBefore }, decisionOf, this.#options.render, unsettled);
  }
}

/** The same records under the second keys of their messages. */
function byResultKey(records: readonly SentMessage[], keys: ReadonlyMap<string, string>): SentMessage[] {
  return records.flatMap((record) => {
    const prefix = keys.get(record.prefix);
    return prefix === undefined ? [] : { ...record, prefix };
  });
}

/** The prunes of decisions that were not refused. */
function cutIn(fresh: Iterable<NewDecision>, refused: ReadonlySet<string>): string[] {
  return [...fresh].flatMap(({ decision: { key, pruneId } }) => (pruneId === null || refused.has(key) ? [] : pruneId));
}

/**
 * Records of the new messages that go whole. Where the provider checks the past, those of all that other settings might
 * cut; elsewhere of those that were decided about, or another request that means the same might be cut, and then this one.
 */
function wholeRecords(
  { bound, known, read, found }: PreparedRequest,
  cut: ReadonlySet<string> = new Set(),
): SentMessage[] {
  const replayed = new Set([...known.sent.keys()].map(({ messageIndex }) => messageIndex));
  const decided = new Set(found.flatMap(({ skip, messageIndex }) => (skip === 'past' ? [] : messageIndex)));
  const from = Math.max(read.first, read.tail);
  return read.messages.flatMap((message, i) => {
    const prefix = read.prefixes[i];
    if (i < from || prefix === undefined || cut.has(prefix) || replayed.has(i)) return [];
    return (bound ? mayBeCut(message) : decided.has(i)) ? wholeRecord(prefix) : [];
  });
}
