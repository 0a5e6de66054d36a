import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExchangeUsage } from '../../core/ports/exchange-usage.ts';
import { decodeBody } from '../decode-body.ts';
import { OutputEstimate } from './output-estimate.ts';

/**
 * Size of the two parts of an answer that are searched, its beginning and its end: usage is in the first event or in
 * the last.
 */
const PART_BYTES = 16 * 1024;
const MAX_COMPRESSED_BYTES = 1024 * 1024;
const MAX_DECODED_BYTES = 16 * MAX_COMPRESSED_BYTES;
/** Estimate for answers without reported usage. */
const BYTES_PER_TOKEN = 4;
/** Bytes of text in a byte of an answer that cannot be decoded: JSON and streams compress about this well. */
const EXPANSION = 8;

/** POST paths that ask for a request's size and use no model. */
const COUNTS_ONLY =
  /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens)$|^\/v1(?:beta)?\/models\/[\w.-]+:countTokens$/;

/** Whether a POST to a path may use a model: true unless the path is known to only count tokens. */
export function asksModel(path: string): boolean {
  return !COUNTS_ONLY.test(path);
}

/** The usage of an exchange, and where the figures come from. */
export interface MeasuredUsage extends ExchangeUsage {
  /** Of `cacheWritten`: for an hour. */
  readonly cacheWritten1h: number;
  /** The provider reported it; otherwise it is an estimate from the bytes of request and answer. */
  readonly isReported: boolean;
}

/**
 * Observes one exchange, whatever its wire format, and reports its usage. Changes none of its bytes. The doors of
 * extensions use it to count what they have admitted.
 */
export class UsageWatch {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #readBefore: number;
  readonly #estimate = new OutputEstimate();
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;
  #measured: Promise<MeasuredUsage> | null = null;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#req = req;
    this.#res = res;
    this.#readBefore = req.socket.bytesRead;
    const { write, end } = res;
    res.write = ((chunk: unknown, ...rest: unknown[]) => {
      this.#take(chunk);
      return Reflect.apply(write, res, [chunk, ...rest]) as boolean;
    }) as typeof res.write;
    res.end = ((chunk?: unknown, ...rest: unknown[]) => {
      this.#take(chunk);
      return Reflect.apply(end, res, [chunk, ...rest]) as ServerResponse;
    }) as typeof res.end;
  }

  /** The provider's usage, or an estimate; zero for a refused request. Never rejects. */
  total(): Promise<ExchangeUsage> {
    return this.measured(this.#requestBytes());
  }

  /**
   * The usage after the answer has ended. An answer that broke off has at least the output that was sent. A client that
   * left before the answer pays for its input. Never rejects.
   *
   * @param requestBytes - size of the request's text
   */
  measured(requestBytes: number): Promise<MeasuredUsage> {
    this.#measured ??= this.#measure(requestBytes);
    return this.#measured;
  }

  async #measure(requestBytes: number): Promise<MeasuredUsage> {
    const { statusCode, writableFinished } = this.#res;
    if (statusCode >= 400) return NOTHING;
    const tokensIn = Math.ceil(requestBytes / BYTES_PER_TOKEN);
    if (this.#bytes === 0) return { ...NOTHING, tokensIn: this.#req.complete ? tokensIn : 0 };
    const text = await this.#text().catch(() => null); // unreadable: estimated
    const reported = reportedIn(text ?? '');
    const output = this.#outputOf(text);
    if (reported.tokensIn + reported.tokensOut === 0) return { ...reported, tokensIn, tokensOut: output };
    const tokensOut = writableFinished ? reported.tokensOut : Math.max(reported.tokensOut, output);
    return { ...reported, tokensOut, isReported: true };
  }

  /** Tokens of output, estimated. */
  #outputOf(text: string | null): number {
    if (text === null) return Math.ceil((this.#bytes * EXPANSION) / BYTES_PER_TOKEN);
    if (!this.#isEncoded()) return this.#estimate.tokens(this.#isStream());
    const decoded = new OutputEstimate();
    decoded.take(Buffer.from(text));
    return decoded.tokens(this.#isStream());
  }

  #requestBytes(): number {
    const { headers, socket } = this.#req;
    return Number(headers['content-length'] ?? 0) || socket.bytesRead - this.#readBefore;
  }

  #take(chunk: unknown): void {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const bytes = Buffer.from(chunk as Uint8Array);
    this.#bytes += bytes.length;
    if (!this.#isEncoded()) this.#estimate.take(bytes);
    if (this.#headBytes < this.#mostHead()) {
      this.#head.push(bytes);
      this.#headBytes += bytes.length;
      return;
    }
    this.#tail.push(bytes);
    this.#tailBytes += bytes.length;
    for (let [first] = this.#tail; first && this.#tailBytes - first.length >= PART_BYTES; [first] = this.#tail) {
      this.#tailBytes -= first.length;
      this.#tail.shift();
    }
  }

  /** More is kept of a compressed answer, which can be decoded only from its beginning. */
  #mostHead(): number {
    return this.#isEncoded() ? MAX_COMPRESSED_BYTES : PART_BYTES;
  }

  #isEncoded(): boolean {
    return !['', 'identity'].includes(this.#header('content-encoding'));
  }

  #isStream(): boolean {
    return this.#header('content-type').startsWith('text/event-stream');
  }

  #header(name: string): string {
    return String(this.#res.getHeader(name) ?? '')
      .trim()
      .toLowerCase();
  }

  /** The parts of the answer that are searched; `null` if they cannot be decoded. */
  async #text(): Promise<string | null> {
    const head = Buffer.concat(this.#head);
    if (!this.#isEncoded()) return `${head.toString('utf8')}\n${Buffer.concat(this.#tail).toString('utf8')}`;
    if (this.#tailBytes > 0) return null;
    const decoded = await decodeBody(head, this.#header('content-encoding'), MAX_DECODED_BYTES);
    return decoded?.toString('utf8') ?? null;
  }
}

const NOTHING: MeasuredUsage = {
  tokensIn: 0,
  tokensOut: 0,
  cacheRead: 0,
  cacheWritten: 0,
  cacheWritten1h: 0,
  model: null,
  isReported: false,
};
const MODEL = /"model(?:Version)?"\s{0,8}:\s{0,8}"([^"\\]{1,200})"/;
const FIELD =
  /"(prompt_tokens|input_tokens|completion_tokens|output_tokens|cache_read_input_tokens|cache_creation_input_tokens|ephemeral_1h_input_tokens|cached_tokens|promptTokenCount|candidatesTokenCount|thoughtsTokenCount|cachedContentTokenCount)"\s{0,8}:\s{0,8}(\d{1,15})/g;

/** The usage reported in an answer's text, or else an estimate from the bytes of request and answer. */
export function usageIn(text: string, bytesIn: number, bytesOut: number): ExchangeUsage {
  const reported = reportedIn(text);
  if (reported.tokensIn + reported.tokensOut > 0) return reported;
  const [tokensIn, tokensOut] = [Math.ceil(bytesIn / BYTES_PER_TOKEN), Math.ceil(bytesOut / BYTES_PER_TOKEN)];
  return { ...NOTHING, tokensIn, tokensOut, model: reported.model };
}

/** The maximum of each count: a streamed answer reports its usage several times, as a running total. */
function reportedIn(text: string): MeasuredUsage {
  const most = new Map<string, number>();
  for (const [, name = '', digits = ''] of text.matchAll(FIELD)) {
    most.set(name, Math.max(most.get(name) ?? 0, Number(digits)));
  }
  const of = (name: string): number => most.get(name) ?? 0;
  const cached = of('cache_read_input_tokens') + of('cache_creation_input_tokens');
  return {
    tokensIn: Math.max(of('prompt_tokens'), of('input_tokens') + cached, of('promptTokenCount')),
    tokensOut: Math.max(
      of('completion_tokens'),
      of('output_tokens'),
      of('candidatesTokenCount') + of('thoughtsTokenCount'),
    ),
    cacheRead: Math.max(of('cache_read_input_tokens'), of('cached_tokens'), of('cachedContentTokenCount')),
    cacheWritten: of('cache_creation_input_tokens'),
    cacheWritten1h: of('ephemeral_1h_input_tokens'),
    isReported: false,
    model: MODEL.exec(text)?.[1] ?? null,
  };
}
