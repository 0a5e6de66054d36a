import type { RequestFacts } from '../../core/ports/request-facts.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer, Dialect } from '../../wires/dialects/dialect.ts';
import type { ProviderName } from '../../wires/providers/facts.ts';
import type { PrunedRequest } from '../prune-step.ts';
import { factsOf, factsOfUnread, shadowFacts } from '../report/ledger-facts.ts';
import { contentOf, type RequestReport, type UnreadReport, withAnswer } from '../report/request-report.ts';
import type { RequestContext } from '../request-context.ts';

/** A request in a frame, as sent to the upstream. */
interface SentFrame {
  readonly context: RequestContext;
  readonly dialect: Dialect;
  /** Frame as received from the client. */
  readonly original: Buffer;
  readonly pruned: PrunedRequest;
  readonly pruneMs: number;
  readonly keepsLedger: boolean;
  /** The upstream's provider. */
  readonly cloud: ProviderName;
}

/** One request in a frame and its answer. */
export class FrameExchange {
  readonly requestId: string;
  readonly pruned: PrunedRequest;
  readonly limitEvents: Buffer[] = [];
  /** Whether the upstream rejected the pruned form. */
  wasRefused = false;
  readonly #about: Omit<SentFrame, 'original' | 'pruned'>;
  #reader = new AnswerReader();
  readonly #startedAt: number;
  readonly #bytesIn: number;
  #bytesOut: number;
  readonly #fallbacks: string[];
  #firstByteMs: number | null = null;
  /** The client's frame while it may have to be resent; otherwise `null`. */
  #original: Buffer | null;

  constructor({ original, pruned, ...about }: SentFrame) {
    this.requestId = about.context.requestId;
    this.pruned = pruned;
    this.#about = about;
    // after accepted cuts, an unpruned request would change the conversation's history
    this.#original = pruned.changed === null || pruned.rewritten?.acceptedBefore ? null : original;
    this.#startedAt = performance.now() - about.pruneMs;
    this.#bytesIn = original.length;
    this.#bytesOut = (pruned.changed ?? original).length;
    this.#fallbacks = [...pruned.fallbacks];
  }

  /** Whether any event of the answer has arrived. */
  get started(): boolean {
    return this.#firstByteMs !== null;
  }

  /** Handles an event of the answer. */
  event(frame: Buffer): void {
    this.#firstByteMs ??= performance.now() - this.#startedAt;
    this.#reader.event(frame);
    if (!this.isOver) this.#original = null;
  }

  /** Whether the last event of the answer has arrived. */
  get isOver(): boolean {
    return this.#reader.isOver;
  }

  /**
   * Handles a refusal of the pruned form.
   *
   * @returns the frame to send instead, or `null`
   */
  refused(status: number): Buffer | null {
    const original = this.#original;
    if (this.pruned.changed !== null && !this.wasRefused) this.#fallbacks.push(`upstream_refused_${status}`);
    if (original === null) return null;
    this.#original = null;
    this.wasRefused = true;
    this.#reader = new AnswerReader();
    this.#firstByteMs = null;
    this.#bytesOut = this.#bytesIn;
    return original;
  }

  /** Facts reported by the answer so far. */
  answer(): Answer {
    return this.#reader.end();
  }

  /** The rewritten request to report. */
  get #shown(): PrunedRequest['rewritten'] {
    return this.pruned.dryRun ?? this.pruned.rewritten;
  }

  #facts(): RequestFacts | null {
    const sent = this.#shown;
    const { context, dialect, cloud } = this.#about;
    const { requestId, caller, keyId, scope } = context;
    const forwardedOriginal = this.#bytesOut === this.#bytesIn;
    const from = { project: scope.project, caller, keyId, client: scope.agent, cloud };
    const about = { requestId, wire: dialect.name, ...from };
    if (sent === null) return factsOfUnread(about, this.#bytesIn);
    const onlyLooked = forwardedOriginal && !this.wasRefused && sent.edits.length > 0;
    return onlyLooked ? shadowFacts(sent, about) : factsOf(sent, { ...about, forwardedOriginal });
  }

  report(status: number, end: RequestReport['end'], upstreamError: string | null): RequestReport {
    const { context, dialect, keepsLedger } = this.#about;
    const sender = keepsLedger ? { project: context.scope.project, client: context.client } : undefined;
    const isBilled = keepsLedger && status < 300 && end === 'answered';
    const report: UnreadReport = {
      requestId: this.requestId,
      sender,
      foreign: false,
      wire: dialect.name,
      verifiesHistory: dialect.verifiesHistory,
      forwardedOriginal: this.#bytesOut === this.#bytesIn,
      bytesIn: this.#bytesIn,
      bytesOut: this.#bytesOut,
      fallbacks: this.#fallbacks,
      pruneMs: this.#about.pruneMs,
      firstByteMs: this.#firstByteMs,
      totalMs: performance.now() - this.#startedAt,
      status,
      end,
      upstreamError,
      context,
      limitEvents: this.limitEvents,
      facts: isBilled ? this.#facts() : null,
      ...contentOf(this.#shown),
      stream: true,
    };
    return withAnswer(report, this.answer());
  }
}
