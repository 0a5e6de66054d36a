import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExchangeUsage } from '../../core/ports/exchange-usage.ts';
import type { ReportedUsage } from '../../core/ports/request-facts.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import { AnswerTap } from '../report/answer-tap.ts';
import { usageFacts } from '../report/ledger-facts.ts';
import { hasFailed } from '../report/request-report.ts';

/** Used to estimate answers without reported usage. */
const BYTES_PER_TOKEN = 4;
/** Estimated expansion of an answer that cannot be decoded: JSON and streams compress about this well. */
const EXPANSION = 8;

/** POST paths that only count a request's tokens and use no model. */
const COUNTS_ONLY =
  /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens)$|^\/v1(?:beta)?\/models\/[\w.-]+:countTokens$/;

/** Whether a POST to a path may use a model: true unless the path is known to only count tokens. */
export function asksModel(path: string): boolean {
  return !COUNTS_ONLY.test(path);
}

/** The usage of an exchange, and where the figures come from. */
export interface MeasuredUsage extends ExchangeUsage {
  /** What is billed, further model calls of the request apart; estimated from the sizes if the answer reports nothing. */
  readonly billed: ReportedUsage;
  /** Whether the provider reported the usage; otherwise it is estimated from the bytes of request and answer. */
  readonly isReported: boolean;
  /** See `BilledFigures.odd`. */
  readonly odd?: true | undefined;
}

const NOTHING = estimated(0, 0);

function estimated(input: number, output: number, model: string | null = null, odd?: true): MeasuredUsage {
  const billed = { input, output, read: null, written: null, written1h: null };
  return { tokensIn: input, tokensOut: output, cacheRead: 0, cacheWritten: 0, billed, model, isReported: false, odd };
}

/**
 * The usage that an answer reports, or else an estimate from the sizes of request and answer; nothing for an error. The
 * output of a truncated answer counts at least as far as it was received.
 *
 * @param bytes - text sizes of request and answer, for the estimate
 */
export function usageIn(answer: Answer, bytes: { in: number; out: number }, isCut: boolean): MeasuredUsage {
  if (hasFailed(answer)) return NOTHING;
  const { usage, model } = answer;
  const [input = 0, output = 0] = [bytes.in, answer.textBytes || bytes.out].map((size) =>
    Math.ceil(size / BYTES_PER_TOKEN),
  );
  const { promptTokens = 0, completionTokens, cachedTokens, cacheWriteTokens, besides } = usage ?? {};
  const facts = usageFacts(usage);
  const odd = answer.reports.hasOddCounts || undefined;
  if (facts === null || (promptTokens ?? 0) + (completionTokens ?? 0) === 0)
    return estimated(input, output, model, odd);
  const tokensOut = Math.max(completionTokens ?? 0, isCut ? output : 0);
  return {
    tokensIn: (promptTokens ?? 0) + (besides?.input ?? 0),
    tokensOut: tokensOut + (besides?.output ?? 0),
    cacheRead: (cachedTokens ?? 0) + (besides?.read ?? 0),
    cacheWritten: (cacheWriteTokens ?? 0) + (besides?.written ?? 0),
    billed: { ...facts, output: tokensOut },
    ...{ model, isReported: true, odd },
  };
}

const watches = new WeakMap<ServerResponse, UsageWatch>();

/** The watch of an exchange, shared by all doors, so that an answer is read only once. */
export function watchOf(req: IncomingMessage, res: ServerResponse): UsageWatch {
  const watch = watches.get(res) ?? new UsageWatch(req, res);
  watches.set(res, watch);
  return watch;
}

/** The reader of a watched answer. */
export function tapOf(res: ServerResponse): AnswerTap | undefined {
  return watches.get(res)?.tap;
}

/**
 * Measures the usage of one exchange in any wire format. Doors count admitted requests with it. The code that forwards
 * the upstream's answer feeds its `tap`.
 */
export class UsageWatch {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #readBefore: number;
  readonly tap = new AnswerTap();

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
    this.#readBefore = req.socket.bytesRead;
  }

  /** The provider's usage, or an estimate; zero for a refused request. Never rejects. */
  total(): Promise<ExchangeUsage> {
    const { headers, socket } = this.#req;
    return this.measured(Number(headers['content-length'] ?? 0) || socket.bytesRead - this.#readBefore);
  }

  /**
   * The usage after the answer has ended. If the client disconnects first, its input still counts. Never rejects.
   *
   * @param requestBytes - size of the request's text
   */
  measured(requestBytes: number): Promise<MeasuredUsage> {
    const { statusCode: status, writableFinished: isWhole } = this.#res;
    return measuredBy(this.tap, { status, isSent: this.#req.complete, isWhole }, requestBytes);
  }
}

/** How an exchange ended. */
interface ExchangeEnd {
  readonly status: number;
  /** Whether the whole request, and the whole answer, were sent. */
  readonly isSent: boolean;
  readonly isWhole: boolean;
}

/** See `UsageWatch.measured`. */
export async function measuredBy(
  tap: AnswerTap,
  { status, isSent, isWhole }: ExchangeEnd,
  requestBytes: number,
): Promise<MeasuredUsage> {
  if (status >= 400) return NOTHING;
  const input = Math.ceil(requestBytes / BYTES_PER_TOKEN);
  const { bytes, isEncoded } = tap;
  if (bytes === 0) return estimated(isSent ? input : 0, 0);
  const out = isEncoded ? bytes * EXPANSION : bytes;
  return usageIn(await tap.end(), { in: requestBytes, out }, !isWhole);
}
