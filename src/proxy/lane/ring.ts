import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FailureReporter } from '../../base/failures.ts';
import type { WriteBehind } from '../../base/write-behind.ts';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { Clock } from '../../core/ports.ts';
import type { RequestPipeline } from '../../core/request/pipeline.ts';
import type { RememberedBody } from '../../core/request/prefix-memo.ts';
import type { IncomingRequest, ReadForObservers } from '../../core/request/request.ts';
import { writesMarker } from '../../core/request/written-markers.ts';
import type { SeenReader } from '../../core/seen/reader.ts';
import { type FallbackCode, reasonOf } from '../../errors/errors.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import { askedIn } from '../doors/asked-model.ts';
import { meteredReport } from '../report/exchange-reporter.ts';
import { againFacts, factsOf, factsOfUnread } from '../report/ledger-facts.ts';
import type { Reporter } from '../report/report.ts';
import {
  contentOf,
  hasFailed,
  type RequestContent,
  type RequestReport,
  unreadReport,
  withAnswer,
} from '../report/request-report.ts';
import type { Exchange } from '../upstream/pass-on.ts';
import { REFUSALS } from '../upstream/refusal.ts';
import type { Admission } from './heads.ts';
import { LaneExchange } from './lane.ts';

interface RingOptions {
  readonly reporter: Pick<Reporter, 'reportNow' | 'reportLater'>;
  readonly rewriter: Pick<RequestPipeline, 'passed' | 'completed' | 'accepted' | 'answered'>;
  readonly seen: Pick<SeenReader, 'add'> | undefined;
  readonly clock: Clock;
  /** Writes figures once a second, before which the records have to be reported. */
  readonly behind: Pick<WriteBehind, 'wake'>;
  /** Whether data belongs to projects. */
  readonly hasProjects: boolean;
  readonly onFailure: FailureReporter;
}

/** Records are reported together after this time. Records that wait longer outlive two collections, and are promoted. */
const TOGETHER_MS = 25;
/** With more records or bytes, they are reported at once. */
const MAX_RECORDS = 4_096;
const MAX_BYTES = 16 * 1024 * 1024;
/** Maximum time spent on reports before other events are handled, in milliseconds. */
const SLICE_MS = 4;
/** A body's facts are computed again after this time, so that observers extend what they store about it. */
const FRESH_MS = 600_000;

/** What the reports of a repeated request have in common. */
interface Repeated {
  readonly admission: Admission;
  readonly content: RequestContent;
  readonly facts: RequestFacts;
  /**
   * Set if no answer of the model precedes it, so that an identical request may begin another conversation: returns the
   * name of its conversation.
   */
  readonly nameOf: ((requestId: string) => string) | null;
  readonly madeMs: number;
}

/** The report of a request that went the usual way. */
interface Made {
  readonly make: () => RequestReport | Promise<RequestReport>;
  readonly heldBytes: number;
  readonly atMs: number;
}

/** What is known of a request of the lane once it has been parsed and named. */
interface Settled {
  readonly record: LaneExchange;
  readonly content: RequestContent;
  readonly facts: RequestFacts | null;
  readonly fallbacks: string[];
  readonly answer: Answer;
}

/**
 * The records of requests that have ended, until they are reported, in order. Only then is the body of a request that
 * took the lane parsed, handed to the observers and remembered.
 */
export class Ring {
  readonly #options: RingOptions;
  #records: (LaneExchange | Settled | Made)[] = [];
  #bytes = 0;
  /** Number of records at the beginning of the list that are settled. */
  #settledUpTo = 0;
  #settling: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #draining: Promise<void> | null = null;
  readonly #repeated = new WeakMap<RememberedBody, Repeated>();

  constructor(options: RingOptions) {
    this.#options = options;
  }

  /** Takes the record of a request that has ended. Never throws. */
  add(exchange: LaneExchange): void {
    const { repeated } = exchange;
    const known = repeated && this.#repeated.get(repeated);
    if (known && known.admission === exchange.admission && exchange.atMs - known.madeMs < FRESH_MS) exchange.release();
    this.#push(exchange);
  }

  /**
   * Takes the report of a request that went the usual way. Never throws.
   *
   * @param bytes - memory held by the report until then
   */
  report(make: Made['make'], bytes: number): void {
    this.#push({ make, heldBytes: bytes, atMs: this.#options.clock.nowMs() });
  }

  #push(record: LaneExchange | Made): void {
    this.#records.push(record);
    this.#bytes += record.heldBytes;
    this.#options.behind.wake();
    if (this.#records.length >= MAX_RECORDS || this.#bytes >= MAX_BYTES) void this.drain();
    else this.#timer ??= setTimeout(() => void this.drain(), TOGETHER_MS).unref();
  }

  /** Reports a request whose client disconnected before its body was complete. */
  gone(admission: Admission, requestId: string, startedAt: number): void {
    const end: Exchange = { kind: 'client_gone', status: 0 };
    const sizes = { forwardedOriginal: false, bytesIn: 0, bytesOut: 0 };
    const times = { pruneMs: 0, firstByteMs: null, totalMs: performance.now() - startedAt };
    const record = { requestId, ...sizes, ...times, fields: [] };
    const make = (): RequestReport =>
      withAnswer(unreadReport(admission, record, end, contentOf(null), null, []), new AnswerReader().end());
    this.report(make, 0);
  }

  /**
   * Names and remembers all requests that have ended, so that a request that goes the usual way finds them; `null` if
   * that is done. Never rejects.
   */
  settle(): Promise<void> | null {
    while (this.#settledUpTo < this.#records.length && !(this.#records[this.#settledUpTo] instanceof LaneExchange)) {
      this.#settledUpTo++; // reports of the usual way are complete
    }
    if (this.#settledUpTo === this.#records.length) return this.#settling;
    this.#settling ??= this.#settleAll().finally(() => {
      this.#settling = null;
    });
    return this.#settling;
  }

  async #settleAll(): Promise<void> {
    while (this.#settledUpTo < this.#records.length) {
      const at = this.#settledUpTo++;
      const record = this.#records[at];
      if (!(record instanceof LaneExchange)) continue;
      this.#bytes -= record.heldBytes;
      try {
        const answer = record.answer();
        const settling = this.#settle(record, answer instanceof Promise ? await answer : answer);
        const settled = settling instanceof Promise ? await settling : settling;
        this.#records[at] = settled;
        const { context, options } = record.admission;
        if (isBilled(record))
          options.seams?.answered(context.scope.project, settled.content.conversationId, settled.answer.usage);
      } catch (cause) {
        this.#options.onFailure('not_reported', cause, { requestId: record.requestId });
      }
    }
  }

  /** Reports all records. Never rejects. */
  async drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while (this.#draining) await this.#draining;
    if (this.#records.length === 0) return;
    this.#draining = this.#drain();
    await this.#draining;
    this.#draining = null;
  }

  async #drain(): Promise<void> {
    const settling = this.settle();
    if (settling) await settling;
    const ready = this.#records.splice(0, this.#settledUpTo);
    this.#settledUpTo = 0;
    let sinceMs = performance.now();
    for (const record of ready) {
      if ('make' in record) this.#reportMade(record);
      else if (!(record instanceof LaneExchange)) this.#reportSettled(record);
      if (performance.now() - sinceMs < SLICE_MS) continue;
      await nextTurn();
      sinceMs = performance.now();
    }
  }

  #reportMade({ make, heldBytes, atMs }: Made): void {
    const { reporter, onFailure } = this.#options;
    this.#bytes -= heldBytes;
    try {
      const report = make();
      if (report instanceof Promise) reporter.reportLater(report, atMs);
      else reporter.reportNow(report, atMs);
    } catch (cause) {
      onFailure('not_reported', cause);
    }
  }

  #reportSettled({ record, content, facts, fallbacks, answer }: Settled): void {
    const { end, atMs, requestId } = record;
    if (end === null) return;
    try {
      const { reporter } = this.#options;
      const report = withAnswer(unreadReport(record.admission, record, end, content, facts, fallbacks), answer);
      if (record.meter) reporter.reportLater(meteredReport(report, record.meter), atMs);
      else reporter.reportNow(report, atMs);
    } catch (cause) {
      this.#options.onFailure('not_reported', cause, { requestId });
    }
  }

  #settle(record: LaneExchange, answer: Answer): Settled | Promise<Settled> {
    const { requestId, repeated } = record;
    const known = repeated && this.#repeated.get(repeated);
    if (!known || record.received !== null) return this.#parse(record, answer);
    const { nameOf } = known;
    const conversationId = nameOf ? nameOf(requestId) : known.content.conversationId;
    if (nameOf) this.#complete(record, { begins: true, shownId: conversationId }, answer);
    const facts = isBilled(record) ? againFacts(known.facts, requestId, conversationId) : null;
    const content = nameOf ? { ...known.content, conversationId } : known.content;
    return { record, content, facts, fallbacks: fallbacksOf(record), answer };
  }

  /** Parses a request for its report, and remembers it for the next one. */
  async #parse(record: LaneExchange, answer: Answer): Promise<Settled> {
    const { rewriter, onFailure, clock } = this.#options;
    const { admission, requestId, passed, received, forwardedOriginal } = record;
    const { context, options, to } = admission;
    const fallbacks = fallbacksOf(record);
    if (received === null || (passed === null && !admission.isOff)) throw new Error('the body was released too early');
    if (passed === null) this.#observe(admission, received);
    const parsed =
      passed &&
      (await rewriter.passed(this.#incoming(record, received), passed).catch((cause: unknown) => {
        fallbacks.push(reasonOf(cause));
        onFailure(reasonOf(cause), cause, { requestId });
        return null;
      }));
    record.release();
    const rewritten = parsed?.rewritten ?? null;
    if (rewritten !== null && writesMarker(rewritten)) fallbacks.push('marker_written' satisfies FallbackCode);
    const { scope, caller, keyId } = context;
    const model = rewritten ? undefined : (to.operation.model ?? askedIn(received).models[0]);
    const of = { project: scope.project, wire: options.dialect.name, cloud: options.cloud, keyId, client: scope.agent };
    const about = { requestId, forwardedOriginal, caller, model, ...of };
    const billed = rewritten ? factsOf(rewritten, about) : factsOfUnread(about, record.bytesIn);
    const content = contentOf(rewritten, model);
    if (passed?.repeated && parsed) {
      const nameOf = parsed.rewritten.begins ? parsed.nameOf : null;
      const facts = againFacts(billed, '', '');
      this.#repeated.set(passed.repeated, { admission, content, facts, nameOf, madeMs: clock.nowMs() });
    }
    if (rewritten && this.#complete(record, rewritten, answer)) {
      if (rewritten.isKept && answer.turn.id !== '') await rewriter.answered(scope.project, rewritten, answer.turn);
      rewriter.accepted(rewritten);
    }
    return { record, content, facts: isBilled(record) ? billed : null, fallbacks, answer };
  }

  /** Records that the model has answered. @returns whether it has */
  #complete(
    record: LaneExchange,
    request: { readonly begins: boolean; readonly shownId: string },
    answer: Answer,
  ): boolean {
    if (record.end?.kind !== 'answered' || !isBilled(record) || hasFailed(answer)) return false;
    this.#options.rewriter.completed(record.admission.context.scope.project, request);
    return true;
  }

  /** Results are stored even if pruning is off for a request, but not if it is disabled for its project. */
  #observe({ context, options, to }: Admission, body: Buffer): void {
    const { seen, hasProjects: isOwned } = this.#options;
    const { scope, sessions } = context;
    const { purpose } = to.operation;
    if (!options.modeOf(scope.project).enabled) return;
    const about = { body, dialect: options.dialect, scope, purpose, sessions, isOwned };
    seen?.add({ ...about, keepsResults: true, read: null, segments: null });
  }

  /** The request as the pipeline parses it. */
  #incoming({ admission, requestId }: LaneExchange, body: Buffer): IncomingRequest {
    const { seen, hasProjects: isOwned } = this.#options;
    const { context, options, to } = admission;
    const { scope, sessions } = context;
    const plain = {
      ...{ body, dialect: options.dialect, model: to.operation.model, purpose: to.operation.purpose, sessions },
      ...{ scope: { ...scope, requestId }, sender: context },
    };
    const onRead = ({ read, segments }: ReadForObservers): void =>
      seen?.add({ ...plain, keepsResults: true, isOwned, read, segments });
    return { ...plain, onRead };
  }
}

function isBilled({ end }: LaneExchange): boolean {
  return end !== null && end.kind !== 'declined' && end.status >= 200 && end.status < 300;
}

/** The codes of an answer that refuses repeated cuts. */
function fallbacksOf({ forwardedOriginal, end, isUnableToContinue }: LaneExchange): string[] {
  const isRefused = !forwardedOriginal && end?.kind === 'answered' && REFUSALS.has(end.status);
  return isRefused && !isUnableToContinue ? [`upstream_refused_${end.status}`] : [];
}
