import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { SeamExchange } from '../../core/ports/seams.ts';
import type { FallbackCode } from '../../errors/errors.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import type { PrunedRequest } from '../prune-step.ts';
import { factsOf, factsOfUnread, shadowFacts, withoutReplaced } from '../report/ledger-facts.ts';
import {
  contentOf,
  type ExchangeFigures,
  type ReportedRequest,
  type RequestReport,
  unreadReport,
  withAnswer,
} from '../report/request-report.ts';
import type { Exchange } from '../upstream/pass-on.ts';

const SUMMARY_REFUSED: FallbackCode = 'summary_refused';

/** A request in a frame, as sent to the upstream. */
interface SentFrame extends Omit<ReportedRequest, 'to'> {
  /** Frame as received from the client. */
  readonly original: Buffer;
  readonly sent: Buffer;
  readonly seam: SeamExchange | null;
  readonly pruned: PrunedRequest;
  readonly pruneMs: number;
}

/** One request in a frame and its answer. */
export class FrameExchange implements ExchangeFigures {
  readonly requestId: string;
  readonly pruned: PrunedRequest;
  readonly limitEvents: Buffer[] = [];
  /** Whether the upstream rejected the pruned form. */
  wasRefused = false;
  /** Replays a summary by the provider; `null` if the frame has nothing to do with them. */
  readonly seam: SeamExchange | null;
  /** Number of messages that a summary stands for. */
  #replaced: number;
  readonly #about: ReportedRequest;
  #reader = new AnswerReader();
  readonly #startedAt: number;
  readonly pruneMs: number;
  readonly bytesIn: number;
  bytesOut: number;
  readonly #fallbacks: string[];
  firstByteMs: number | null = null;
  totalMs = 0;
  readonly fields: readonly string[] = [];
  /** The client's frame while it may have to be resent; otherwise `null`. */
  #original: Buffer | null;
  /** The frame, received and as sent, if it holds no answer of the model: a client may leave it out in the next one. */
  readonly beginning: { readonly received: Buffer; readonly sent: Buffer } | null;

  constructor({ original, sent, seam, pruned, pruneMs, context, options, isOff, isShadow }: SentFrame) {
    this.requestId = context.requestId;
    this.pruned = pruned;
    this.pruneMs = pruneMs;
    const operation = { dialect: options.dialect, purpose: 'generate', stream: true } as const;
    this.#about = { context, to: { operation }, options, isOff, isShadow };
    // after accepted cuts, an unpruned request would change the conversation's history
    this.#original = pruned.changed === null || pruned.rewritten?.acceptedBefore ? null : original;
    this.#startedAt = performance.now() - pruneMs;
    this.bytesIn = original.length;
    this.bytesOut = sent.length;
    this.seam = seam;
    this.#replaced = seam?.swapped?.replaced ?? 0;
    const { begins = false, previous } = pruned.rewritten ?? {};
    this.beginning = begins && previous === '' ? { received: original, sent } : null;
    this.#fallbacks = [...pruned.fallbacks];
  }

  /** Whether any event of the answer has arrived. */
  get started(): boolean {
    return this.firstByteMs !== null;
  }

  get forwardedOriginal(): boolean {
    return this.bytesOut === this.bytesIn;
  }

  /** Handles an event of the answer. */
  event(frame: Buffer): void {
    this.firstByteMs ??= performance.now() - this.#startedAt;
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
    this.#resend(original);
    return original;
  }

  /** Whether a refusal may be that of a summary: for the first one of a frame with a summary. */
  get mayRefuseSummary(): boolean {
    return this.#replaced > 0 && !this.#fallbacks.includes(SUMMARY_REFUSED);
  }

  /** Handles a refusal of a summary. @returns the frame to send instead */
  async summaryRefused(seam: SeamExchange): Promise<Buffer> {
    this.#fallbacks.push(SUMMARY_REFUSED);
    const { body, replaced } = await seam.refused();
    this.#replaced = replaced;
    this.#resend(body);
    return body;
  }

  #resend({ length }: Buffer): void {
    this.#reader = new AnswerReader();
    this.firstByteMs = null;
    this.bytesOut = length;
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
    const { context, options } = this.#about;
    const { dialect, cloud } = options;
    const { requestId, caller, keyId, scope } = context;
    const { forwardedOriginal } = this;
    const from = { project: scope.project, caller, keyId, client: scope.agent, cloud };
    const about = { requestId, wire: dialect.name, ...from };
    if (sent === null) return factsOfUnread(about, this.bytesIn);
    if (this.#replaced > 0)
      return withoutReplaced(factsOf(sent, { ...about, forwardedOriginal: false }), this.#replaced, this.bytesOut);
    const onlyLooked = forwardedOriginal && !this.wasRefused && sent.edits.length > 0;
    return onlyLooked ? shadowFacts(sent, about) : factsOf(sent, { ...about, forwardedOriginal });
  }

  report(exchange: Exchange): RequestReport {
    this.totalMs = performance.now() - this.#startedAt;
    const isBilled = exchange.kind === 'answered' && exchange.status < 300;
    const content = contentOf(this.#shown);
    const report = unreadReport(this.#about, this, exchange, content, isBilled ? this.#facts() : null, this.#fallbacks);
    return withAnswer(Object.assign(report, { limitEvents: this.limitEvents }), this.answer());
  }
}
