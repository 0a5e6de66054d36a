import type { FailureReporter } from '../../base/failures.ts';
import { type Work, waitFor } from '../../base/work.ts';
import type { RenderOptions } from '../../engine/text/render.ts';
import { storeFailure } from '../../errors/errors.ts';
import type { DecisionMaker } from '../decide/decision-maker.ts';
import { TIMED_OUT } from '../decide/time-limits.ts';
import { ifLargeInTurns, type Turns } from '../decide/turns.ts';
import { pruneIdsIn } from '../hash.ts';
import type { Ownership } from '../ownership.ts';
import type { Decision, NewDecision, SentMessage, Store } from '../ports.ts';
import { adoptRecords } from '../sent/history.ts';
import { HistoryUnknown } from '../sent/history-unknown.ts';
import type { LateRecords } from '../sent/late-records.ts';
import { controlPrefix, mayBeCut, recordsOf, type SentMemory, wholeRecord } from '../sent/records.ts';
import { underSecondKeys } from '../sent/second-keys.ts';
import type { DecidedTexts, DecideStage } from './decide.ts';
import type { FoundText } from './found-text.ts';
import { checksumsOf } from './head-sums.ts';
import { recordsWholeMessages } from './policy.ts';
import { type Checkpoint, PrefixBytes, type RememberedBody } from './prefix-memo.ts';
import { CHECKPOINTS } from './read.ts';
import type { PersistedRequest, ReadRequest } from './request.ts';
import { hasRawHistory } from './rewritten.ts';
import { type Spliced, splice } from './splice.ts';

interface PersistOptions {
  readonly decisions: DecisionMaker;
  readonly decide: Pick<DecideStage, 'whole'>;
  readonly render: RenderOptions;
  readonly sent: SentMemory;
  readonly late: LateRecords;
  readonly turns: Turns;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership | undefined;
  readonly onFailure: FailureReporter;
}

/** A spliced body, with the sent-message records to store. */
interface SplicedBody {
  readonly spliced: Spliced;
  readonly records: readonly SentMessage[];
}

/**
 * Splices the cuts into the body and makes decisions, originals and records durable in one commit. If two processes
 * send the same message concurrently, the first commit wins, and the other process adopts its decisions and records.
 */
export class PersistStage {
  readonly #options: PersistOptions;

  constructor(options: PersistOptions) {
    this.#options = options;
  }

  /** @throws HistoryUnknown if the policy is to wait and the outcome of the commit is unknown */
  *run(request: ReadRequest, decided: DecidedTexts): Work<PersistedRequest> {
    const { decisions, fallbacks, failure } = decided;
    // after a time-out the store is still writable, and a provider that verifies the history requires records
    if (failure !== null && !(failure === TIMED_OUT && recordsWholeMessages(request)))
      return this.unstored(request, decided);
    // no texts and no records to write: no commit
    if (request.found.length === 0 && !(recordsWholeMessages(request) && wholeRecords(request).length > 0)) {
      return { request, decisions, fallbacks, spliced: this.#splice(request, decisions), failed: false };
    }
    try {
      const persisted = yield* this.#commit(request, decided);
      yield* this.#options.late.flush();
      if (this.#options.owners && failure === null) yield* this.#claim(this.#options.owners, persisted);
      return persisted;
    } catch (cause) {
      throwIfUnsure(cause, request);
      return this.unstored(request, this.#options.decide.whole(request, cause));
    }
  }

  /**
   * Outcome of a request if nothing can be stored. If the provider verifies the history, this process keeps the records
   * in memory.
   */
  unstored(request: ReadRequest, { decisions, fallbacks, failure }: DecidedTexts): PersistedRequest {
    // re-pruning decides about all answered texts, so the failure does not explain why others stay whole
    const undecidedReason = request.policy.history === 're-prune' ? undefined : fallbacks[0];
    const { spliced, records } = this.#outgoing(request, decisions, undecidedReason);
    // needed to repeat the same bytes, although the store does not have them
    if (recordsWholeMessages(request)) this.#remember(records);
    else if (failure !== null && request.policy.history === 're-prune') this.#options.sent.add(records);
    return { request, decisions, fallbacks, spliced, failed: true };
  }

  /**
   * Records that a control-group request is sent whole, and that its conversation belongs to the control group.
   *
   * @returns `false` if another conversation with the same first words has sent one of its messages shortened
   * @throws HistoryUnknown if the policy is to wait and the outcome of the commit is unknown
   */
  *recordWhole(request: ReadRequest): Work<boolean> {
    const { decisions, sent, late } = this.#options;
    const records = controlRecords(request);
    if (records.length === 0) return true;
    try {
      const isStored = request.known.failure === null;
      const stored = isStored ? yield* decisions.makeDurable([], records, request.read.shownId) : null;
      if (stored && stored.sentBefore.length > 0) return false;
    } catch (cause) {
      throwIfUnsure(cause, request);
      late.add(records);
    }
    sent.add(records);
    return true;
  }

  /** Like `recordWhole`, but only in the memory of this process. */
  rememberWhole(request: ReadRequest): void {
    this.#remember(controlRecords(request));
  }

  /** Caches records that could not be written, until they can be. */
  #remember(records: readonly SentMessage[]): void {
    this.#options.sent.add(records);
    this.#options.late.add(records);
  }

  /** The body of a dry run. */
  dry(request: ReadRequest, decisions: ReadonlyMap<FoundText, Decision>): Spliced {
    return this.#splice(request, decisions);
  }

  /** @throws StoreUnavailable if nothing was stored */
  *#commit(request: ReadRequest, decided: DecidedTexts): Work<PersistedRequest> {
    const { decisions, turns, sent, owners } = this.#options;
    const { fresh, fallbacks, failure } = decided;
    const { body, read, known, signal, scope } = request;
    const byText = new Map(decided.decisions);
    const undecidedReason = failure === null ? undefined : fallbacks[0];
    const attempt = () => ifLargeInTurns(turns, body.length, () => this.#outgoing(request, byText, undecidedReason));
    let outgoing = yield* waitFor(attempt());
    signal?.throwIfAborted();
    let stored = yield* decisions.makeDurable(fresh, outgoing.records, read.shownId, owners && scope.project);
    owners?.remember(scope.project, cutIn(fresh, stored.refused));
    if (stored.instead.size + stored.refused.size > 0) {
      for (const [text, { key }] of byText) {
        if (known.sent.has(text)) continue; // replayed cuts were sent before, so they are kept
        const other = stored.instead.get(key);
        if (other) byText.set(text, other);
        else if (stored.refused.has(key)) byText.delete(text);
      }
      outgoing = yield* waitFor(attempt());
      stored = yield* decisions.makeDurable([], outgoing.records, read.shownId);
    }
    let adopted = request;
    if (stored.sentBefore.length > 0) {
      adopted = adoptRecords(request, yield* sent.reread(stored.sentBefore));
      for (const [text, decision] of adopted.known.sent) byText.set(text, decision);
      outgoing = this.#outgoing(adopted, byText, undecidedReason);
    }
    signal?.throwIfAborted();
    sent.add(outgoing.records);
    return { request: adopted, decisions: byText, fallbacks, spliced: outgoing.spliced, failed: failure !== null };
  }

  #outgoing(
    request: ReadRequest,
    decisions: ReadonlyMap<FoundText, Decision>,
    undecidedReason: string | undefined,
  ): SplicedBody {
    const { read, known, found } = request;
    const spliced = this.#splice(request, decisions, undecidedReason);
    const open = found.map((text) => (known.sent.has(text) ? null : text));
    const outcomes = spliced.outcomes.slice(read.outcomesBefore.length);
    const prefixOf = (index: number): string => read.prefixes[index] ?? '';
    const cut = recordsOf(open, outcomes, (text) => decisions.get(text) ?? null, prefixOf, this.#options.render);
    const records = [...cut, ...wholeRecords(request, new Set(cut.map(({ prefix }) => prefix)))];
    return { spliced, records: withSecondKeys(request, records) };
  }

  #splice(
    { body, read: { editsBefore, outcomesBefore }, found }: ReadRequest,
    decisions: ReadonlyMap<FoundText, Decision>,
    undecidedReason?: string,
  ): Spliced {
    const input = { found, editsBefore, outcomesBefore };
    return splice(body, input, (text) => decisions.get(text) ?? null, this.#options.render, undecidedReason);
  }

  /**
   * Makes the project an owner of all cut originals, even if another project stored them first. Never throws: a failed
   * claim is repeated with the next request of the conversation.
   */
  *#claim(owners: Ownership, { request, spliced }: PersistedRequest): Work<void> {
    const cut = spliced.outcomes.flatMap(({ pruneId }) => pruneId ?? []);
    try {
      yield* owners.claim(request.scope.project, cut);
    } catch (cause) {
      this.#options.onFailure('not_claimed', cause);
    }
  }
}

/** Prune ids of decisions that were not refused. */
function cutIn(fresh: readonly NewDecision[], refused: ReadonlySet<string>): string[] {
  return fresh.flatMap(({ decision: { key, pruneId } }) => (pruneId === null || refused.has(key) ? [] : pruneId));
}

/**
 * Records of new messages that stay whole. If the provider verifies the history: all messages that other settings might
 * cut. Otherwise: messages with large texts, so that an identical message stays whole again.
 */
function wholeRecords(request: ReadRequest, cut: ReadonlySet<string> = new Set()): SentMessage[] {
  const { known, read, found } = request;
  const recordsWhole = recordsWholeMessages(request);
  const replayed = new Set([...known.sent.keys()].map(({ messageIndex }) => messageIndex));
  const decided = new Set(found.flatMap(({ skip, messageIndex }) => (skip === 'past' ? [] : messageIndex)));
  const records: SentMessage[] = [];
  for (let i = Math.max(read.first, read.tail); i < read.messages.length; i++) {
    const message = read.messages[i];
    const prefix = read.prefixes[i];
    if (message === undefined || prefix === undefined || cut.has(prefix) || replayed.has(i)) continue;
    if (recordsWhole ? mayBeCut(message) : decided.has(i)) records.push(wholeRecord(prefix));
  }
  return records;
}

/** Adds copies of records under second keys, if the provider stores the history. */
function withSecondKeys({ dialect, read }: ReadRequest, records: readonly SentMessage[]): readonly SentMessage[] {
  // once a thread is open, its history is identified by the messages themselves
  const isKept = dialect.keepsHistory === 'items' || read.scanned.previous !== '';
  return isKept ? [...records, ...underSecondKeys(records, read.secondKeys)] : records;
}

/** Records for a request in the control group. */
function controlRecords(request: ReadRequest): readonly SentMessage[] {
  const { known, read } = request;
  const records = withSecondKeys(request, wholeRecords(request));
  return known.control ? records : [...records, wholeRecord(controlPrefix(read.shownId))];
}

/**
 * Rethrows all errors except commits that certainly wrote nothing, or for which the policy does not require certainty.
 *
 * @throws HistoryUnknown if the policy is to wait and the outcome of the commit is unknown
 */
function throwIfUnsure(cause: unknown, { policy }: ReadRequest): void {
  const { reason, mayBeDone } = storeFailure(cause);
  const mayBeWritten = reason === 'unreachable' || mayBeDone;
  if (mayBeWritten && policy.whenHistoryUnknown === 'wait') throw new HistoryUnknown(cause);
}

/** Maximum number of prune ids whose expiry one request extends: more than a context of a million tokens contains. */
const MAX_TOUCHED = 30_000;

interface SlideOptions {
  readonly store: Store;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership;
  readonly onFailure: FailureReporter;
}

/**
 * Extends the expiry of every prune id in the new part of a body, whether in our markers or in quoted text. Never
 * throws.
 *
 * @param from - offset of the first new byte
 */
export function* slideExpiry(
  { store, owners, onFailure }: SlideOptions,
  body: Buffer,
  from: number,
  project: string,
): Work<void> {
  const needle = 'prune_id=prn_';
  const first = body.indexOf(needle, from);
  if (first < 0) return;
  const ids = new Set<string>();
  for (let at = first; at >= 0 && ids.size < MAX_TOUCHED; at = body.indexOf(needle, at + 1)) {
    for (const id of pruneIdsIn(body.toString('latin1', at, at + 32))) ids.add(id);
  }
  if (ids.size === 0) return;
  try {
    const touch = owners ? yield* owners.ownedBy(project, ids) : [...ids];
    if (touch.length > 0) yield* waitFor(store.commit({ decisions: [], touch }, 0));
  } catch (cause) {
    onFailure('not_slid', cause);
  }
}

type Validity = Pick<RememberedBody, 'epoch' | 'storedAtMs' | 'directives' | 'steps'>;

/** Conditions under which a later request may reuse the body without querying the store. */
function validityOf({ request, failed }: PersistedRequest): Validity {
  const { state, steps, read } = request;
  const { match } = read;
  if (match && failed) {
    const { epoch, storedAtMs, directives, steps: sameSteps } = match.body;
    return { epoch, storedAtMs, directives, steps: sameSteps };
  }
  const storedAtMs = match?.body.storedAtMs ?? state.now;
  return { epoch: failed ? '' : state.epoch, storedAtMs, directives: state.directives.version, steps: steps.joined };
}

/** The part of a forwarded body to remember; `null` if no later body can begin with it. */
export function bodyToRemember(persisted: PersistedRequest): RememberedBody | null {
  const { request, spliced } = persisted;
  const { body, dialect, read, found } = request;
  const { edits, outcomes, counts } = spliced;
  const { epoch, storedAtMs, directives, steps } = validityOf(persisted);
  const { match } = read;
  const { before, messages, previous } = read.scanned;
  // after a request that continues a stored answer, the next body starts from another answer
  if (previous !== '') return null;
  const checkpoints: Checkpoint[] = read.messageEnds.map(({ message, conversation, tokens }) => {
    const done = counts[found.filter(({ messageIndex }) => messageIndex <= message).length];
    return {
      at: messages[message]?.span.end ?? 0,
      messages: message + 1,
      edits: done?.edits ?? 0,
      outcomes: done?.outcomes ?? 0,
      tokens,
      conversation,
    };
  });
  const last = checkpoints.at(-1);
  if (!last) return null;
  const known = match ? match.body.checkpoints.filter(({ messages: count }) => count <= match.checkpoint.messages) : [];
  return {
    prefix: PrefixBytes.of(body, last.at, match?.body.prefix ?? null, match?.checkpoint.at ?? 0),
    dialect: dialect.name,
    before,
    messages,
    prefixes: read.prefixes,
    rawHistory: hasRawHistory(request),
    edits,
    outcomes,
    checkpoints: [...known, ...checkpoints].slice(-CHECKPOINTS),
    epoch,
    storedAtMs,
    directives,
    steps,
    tail: tailOf(body.subarray(last.at), match?.body.tail),
    shownId: read.shownId,
    begins: read.begins,
    origin: originOf(request),
    isKept: read.scanned.thread,
    head: { model: read.model, ...checksumsOf({ received: body, outside: read.scanned.outside, messages, previous }) },
  };
}

/** See `RememberedBody`. */
function originOf({ scope, read }: ReadRequest): string {
  return read.session === '' ? (scope.origin ?? '') : '';
}

/** A copy of the bytes after the last message, or the earlier copy if it is the same. */
function tailOf(bytes: Buffer, before: Buffer | undefined): Buffer {
  return before?.equals(bytes) === true ? before : Buffer.from(bytes);
}
