import { crc32 } from 'node:zlib';
import type { CountAnswer } from '../../core/ports/request-facts.ts';
import { field, parsed } from '../../wires/json/value.ts';
import { requestHeaders } from './headers.ts';
import type { Upstream } from './upstream.ts';

export interface ExactCountsOptions {
  /** Share of requests that are counted, from 0 to 1. */
  readonly share: number;
  /** Converts a body to a token-count request. @throws if the body is not understood */
  readonly question: (body: Buffer) => Buffer;
  /** Whether an answer rejects the request because of its history. */
  readonly refusesHistory: (status: number, answer: Buffer) => boolean;
  /** Reports a failed count; `reason` is a short constant code. */
  readonly onFailure: (reason: string, cause: unknown, about: { readonly requestId: string }) => void;
}

/** An answered request. */
export interface AnsweredRequest {
  readonly requestId: string;
  /** The body as sent by the client, decoded. */
  readonly body: Buffer;
  /** Upstream of the request, and path and query there. */
  readonly upstream: Pick<Upstream, 'request'>;
  readonly path: string;
  /** Headers of the request: name, value, … */
  readonly rawHeaders: readonly string[];
}

/** Maximum number of concurrent counts; further requests are not counted. */
const AT_ONCE = 4;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const TIMEOUT_MS = 10_000;
/** Headers that do not apply to the count request. */
const EXCLUDED_HEADERS = ['accept', 'accept-encoding', 'content-encoding'];

/**
 * Queries the provider's token count of pruned requests in unpruned form, with the client's key and after the answer.
 * Only the request's billing waits for it.
 */
export class ExactCounts {
  readonly #options: ExactCountsOptions;
  #underWay = 0;

  constructor(options: ExactCountsOptions) {
    this.#options = options;
  }

  /**
   * Token count of an unpruned request. Never rejects.
   *
   * @returns `null` if the request is not in the sample
   */
  of(request: AnsweredRequest): Promise<CountAnswer> | null {
    if (crc32(request.requestId) / 0x1_0000_0000 >= this.#options.share) return null;
    if (this.#underWay >= AT_ONCE) return Promise.resolve({ input: null, failure: 'busy' });
    if (request.body.length > MAX_BODY_BYTES) return Promise.resolve({ input: null, failure: 'body_too_large' });
    this.#underWay++;
    return this.#count(request)
      .then((input) => ({ input, failure: '' }))
      .catch((cause: unknown) => {
        this.#options.onFailure('not_counted', cause, { requestId: request.requestId });
        return { input: null, failure: failureOf(cause) };
      })
      .finally(() => {
        this.#underWay--;
      });
  }

  async #count({ body, upstream, path, rawHeaders }: AnsweredRequest): Promise<number> {
    const question = this.#options.question(body);
    const [own = '', query] = path.split('?', 2);
    const to = `${own}/count_tokens${query === undefined ? '' : `?${query}`}`;
    const { status, body: answer } = await upstream.request(
      to,
      requestHeaders(rawHeaders, EXCLUDED_HEADERS),
      question,
      TIMEOUT_MS,
    );
    if (this.#options.refusesHistory(status, answer))
      throw new NotCounted('history_refused', `answered with ${status}`);
    if (status !== 200) throw new NotCounted(`status_${status}`, `answered with ${status}`);
    const tokens = field(parsed(answer.toString('utf8')), 'input_tokens');
    if (typeof tokens !== 'number' || !(tokens >= 0)) {
      throw new NotCounted('not_understood', 'answered without a number of tokens');
    }
    return tokens;
  }
}

/** The provider's answer contains no count. */
class NotCounted extends Error {
  override readonly name = 'NotCounted';

  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

function failureOf(cause: unknown): string {
  if (cause instanceof NotCounted) return cause.code;
  return cause instanceof Error && cause.name === 'TimeoutError' ? 'timeout' : 'unreachable';
}
