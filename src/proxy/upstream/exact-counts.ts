import { crc32 } from 'node:zlib';
import type { CountAnswer } from '../../core/ports/ledger.ts';
import { field, parsed } from '../../json/value.ts';
import { requestHeaders } from './headers.ts';
import type { Upstream } from './upstream.ts';

export interface ExactCountsOptions {
  /** Share of requests that are counted, from 0 to 1. */
  readonly share: number;
  /** The question how many tokens a body has. @throws when it is not understood */
  readonly question: (body: Buffer) => Buffer;
  /** Whether an answer refuses a request because its history is not the one that the provider knows. */
  readonly refusesPast: (status: number, answer: Buffer) => boolean;
  /** Reports a question that failed; `reason` is a short constant code. */
  readonly onFailure: (reason: string, cause: unknown, about: { readonly requestId: string }) => void;
}

/** A request that was answered. */
export interface AnsweredRequest {
  readonly requestId: string;
  /** As the client sent it, decoded. */
  readonly body: Buffer;
  /** Where it went: the upstream, and path and query there. */
  readonly upstream: Pick<Upstream, 'ask'>;
  readonly path: string;
  /** Its fields: name, value, … */
  readonly rawHeaders: readonly string[];
}

/** Questions under way; further requests are not counted. */
const AT_ONCE = 4;
const MAX_BODY_BYTES = 16 * 1024 * 1024;
const PATIENCE_MS = 10_000;
/** Fields that are not true of the question. */
const NOT_OF_IT = ['accept', 'accept-encoding', 'content-encoding'];

/**
 * Asks the provider how many tokens requests have that were sent with cuts, as they came: with the client's own key, once
 * the answer is through. Nothing waits for it but the account of that request.
 */
export class ExactCounts {
  readonly #options: ExactCountsOptions;
  #underWay = 0;

  constructor(options: ExactCountsOptions) {
    this.#options = options;
  }

  /** Tokens of a request as it came. Never rejects. @returns `null` for a request outside the share */
  of(request: AnsweredRequest): Promise<CountAnswer> | null {
    if (crc32(request.requestId) / 0x1_0000_0000 >= this.#options.share) return null;
    if (this.#underWay >= AT_ONCE) return Promise.resolve({ input: null, failure: 'busy' });
    if (request.body.length > MAX_BODY_BYTES) return Promise.resolve({ input: null, failure: 'body_too_large' });
    this.#underWay++;
    return this.#ask(request)
      .then((input) => ({ input, failure: '' }))
      .catch((cause: unknown) => {
        this.#options.onFailure('not_counted', cause, { requestId: request.requestId });
        return { input: null, failure: failureOf(cause) };
      })
      .finally(() => {
        this.#underWay--;
      });
  }

  async #ask({ body, upstream, path, rawHeaders }: AnsweredRequest): Promise<number> {
    const asked = this.#options.question(body);
    const [own = '', query] = path.split('?', 2);
    const to = `${own}/count_tokens${query === undefined ? '' : `?${query}`}`;
    const { status, body: answer } = await upstream.ask(to, requestHeaders(rawHeaders, NOT_OF_IT), asked, PATIENCE_MS);
    if (this.#options.refusesPast(status, answer)) throw new NotCounted('history_refused', `answered with ${status}`);
    if (status !== 200) throw new NotCounted(`status_${status}`, `answered with ${status}`);
    const tokens = field(parsed(answer.toString('utf8')), 'input_tokens');
    if (typeof tokens !== 'number' || !(tokens >= 0)) {
      throw new NotCounted('not_understood', 'answered without a number of tokens');
    }
    return tokens;
  }
}

/** The provider answered, but not with a count. */
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
