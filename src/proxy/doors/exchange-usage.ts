import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ExchangeUsage } from '../../core/ports/exchange-usage.ts';
import { isDecodable } from '../answer-decoder.ts';
import { decodeBody } from '../decode-body.ts';

/**
 * Size of the two parts of an answer that are searched, its beginning and its end: usage is in the first event or in
 * the last.
 */
const PART_BYTES = 16 * 1024;
const MAX_COMPRESSED_BYTES = 1024 * 1024;
/** Estimate for answers without reported usage. */
const BYTES_PER_TOKEN = 4;

/** POST paths that ask for a request's size and use no model. */
const COUNTS_ONLY =
  /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens)$|^\/v1(?:beta)?\/models\/[\w.-]+:countTokens$/;

/** Whether a POST to a path may use a model: true unless the path is known to only count tokens. */
export function asksModel(path: string): boolean {
  return !COUNTS_ONLY.test(path);
}

/**
 * Observes one exchange, whatever its wire format, and reports its usage. Changes none of its bytes. The doors of
 * extensions use it to count what they have admitted.
 */
export class UsageWatch {
  readonly #res: ServerResponse;
  readonly #requestBytes: number;
  #head: Buffer[] = [];
  #headBytes = 0;
  #tail: Buffer[] = [];
  #tailBytes = 0;
  #bytes = 0;

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#res = res;
    this.#requestBytes = Number(req.headers['content-length'] ?? 0) || 0;
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
  async total(): Promise<ExchangeUsage> {
    const { statusCode } = this.#res;
    if (statusCode >= 400 || this.#bytes === 0) return NOTHING;
    return usageIn(await this.#text().catch(() => '') /* unreadable: estimated */, this.#requestBytes, this.#bytes);
  }

  #take(chunk: unknown): void {
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return;
    const bytes = Buffer.from(chunk as Uint8Array);
    this.#bytes += bytes.length;
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
    return isDecodable(this.#encoding()) ? MAX_COMPRESSED_BYTES : PART_BYTES;
  }

  #encoding(): string {
    return String(this.#res.getHeader('content-encoding') ?? '')
      .trim()
      .toLowerCase();
  }

  async #text(): Promise<string> {
    const head = Buffer.concat(this.#head);
    if (isDecodable(this.#encoding())) {
      if (this.#tailBytes > 0) return '';
      return (await decodeBody(head, this.#encoding(), 16 * MAX_COMPRESSED_BYTES))?.toString('utf8') ?? '';
    }
    return `${head.toString('utf8')}\n${Buffer.concat(this.#tail).toString('utf8')}`;
  }
}

const NOTHING: ExchangeUsage = { tokensIn: 0, tokensOut: 0, cacheRead: 0, cacheWritten: 0, model: null };
const MODEL = /"model(?:Version)?"\s{0,8}:\s{0,8}"([^"\\]{1,200})"/;
const FIELD =
  /"(prompt_tokens|input_tokens|completion_tokens|output_tokens|cache_read_input_tokens|cache_creation_input_tokens|cached_tokens|promptTokenCount|candidatesTokenCount|thoughtsTokenCount|cachedContentTokenCount)"\s{0,8}:\s{0,8}(\d{1,15})/g;

/** The usage reported in an answer's text, or else an estimate from the bytes of request and answer. */
export function usageIn(text: string, bytesIn: number, bytesOut: number): ExchangeUsage {
  const reported = reportedIn(text);
  if (reported.tokensIn + reported.tokensOut > 0) return reported;
  const [tokensIn, tokensOut] = [Math.ceil(bytesIn / BYTES_PER_TOKEN), Math.ceil(bytesOut / BYTES_PER_TOKEN)];
  return { ...NOTHING, tokensIn, tokensOut, model: reported.model };
}

/** The maximum of each count: a streamed answer reports its usage several times, as a running total. */
function reportedIn(text: string): ExchangeUsage {
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
    model: MODEL.exec(text)?.[1] ?? null,
  };
}
