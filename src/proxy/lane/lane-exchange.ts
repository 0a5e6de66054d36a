import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Passed } from '../../core/request/passing.ts';
import type { RememberedBody } from '../../core/request/prefix-memo.ts';
import { AnswerReader } from '../../wires/dialects/answers/reader.ts';
import type { Answer } from '../../wires/dialects/dialect.ts';
import { AnswerTap } from '../report/answer-tap.ts';
import { headerIn, ownFields, requestHeaders } from '../upstream/headers.ts';
import type { Exchange, UpstreamRequest } from '../upstream/pass-on.ts';
import type { Admission } from './heads.ts';

/** Answers up to this size are kept until the request is reported, in bytes; longer ones are read as they stream. */
const MAX_KEPT_BYTES = 16 * 1024;

/**
 * A request of the lane while it is in flight, and its record afterwards, until it is reported. It is the request that
 * the upstream sends, so that no callback has to be made for it.
 */
export class LaneExchange implements UpstreamRequest {
  readonly method = 'POST';
  readonly path: string;
  readonly headers: string[];
  readonly extraHeaders: readonly string[];
  readonly errorBody: UpstreamRequest['errorBody'];
  readonly admission: Admission;
  readonly requestId: string;
  /** Set if the request repeats a remembered body. */
  readonly repeated: RememberedBody | null;
  readonly forwardedOriginal: boolean;
  /** Needed to parse the request afterwards; `null` if it is not parsed, or not any more. */
  passed: Passed | null;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly startedAt: number;
  /** Set once the exchange has ended. */
  end: Exchange | null = null;
  /** End of the exchange in epoch milliseconds, and its duration. */
  atMs = 0;
  totalMs = 0;
  firstByteMs: number | null = null;
  /** See `EndedExchange`. */
  fields: readonly string[] = [];
  readonly pruneMs: number;
  /** The received body, until it was parsed. */
  received: Buffer | null;
  #body: Buffer | null;
  #tap: AnswerTap | null = null;
  /** The answer as far as it arrived, if it is short and not encoded. */
  #kept: Buffer | null = null;

  constructor(
    req: IncomingMessage,
    admission: Admission,
    requestId: string,
    passed: Passed | null,
    about: { readonly received: Buffer; readonly startedAt: number; readonly pruneMs: number },
  ) {
    const { to, options } = admission;
    this.path = to.path;
    this.headers = requestHeaders(req.rawHeaders);
    this.extraHeaders = [
      'x-mcp-pruner-request-id',
      requestId,
      'x-mcp-pruner-tokens-saved',
      String(passed?.tokensSaved ?? 0),
    ];
    this.errorBody = options.dialect.error;
    this.admission = admission;
    this.requestId = requestId;
    const body = passed?.body ?? about.received;
    this.repeated = passed?.repeated ?? null;
    this.forwardedOriginal = body === about.received;
    this.passed = passed;
    this.bytesIn = about.received.length;
    this.bytesOut = body.length;
    this.startedAt = about.startedAt;
    this.pruneMs = about.pruneMs;
    this.received = about.received;
    this.#body = body;
  }

  get body(): Buffer | null {
    return this.#body;
  }

  onHead(_status: number, fields: readonly string[]): void {
    this.firstByteMs = performance.now() - this.startedAt;
    const encoding = headerIn(fields, 'content-encoding');
    const length = Number(headerIn(fields, 'content-length') || Number.NaN);
    if (encoding !== '' || !(length <= MAX_KEPT_BYTES)) {
      this.#tap = new AnswerTap();
      this.#tap.head(encoding);
    }
    this.fields = ownFields(fields);
  }

  onData(chunk: Buffer): void {
    if (this.#tap) this.#tap.data(chunk);
    else this.#kept = this.#kept === null ? Buffer.from(chunk) : Buffer.concat([this.#kept, chunk]);
  }

  /** Records the end of the exchange, and releases what only the exchange needed. */
  over(end: Exchange, atMs: number): void {
    this.end = end;
    this.atMs = atMs;
    this.totalMs = performance.now() - this.startedAt;
    this.headers.length = 0;
    this.#body = null;
  }

  /** Bytes of bodies that the record holds. */
  get heldBytes(): number {
    return this.received === null ? 0 : this.bytesIn + (this.forwardedOriginal ? 0 : this.bytesOut);
  }

  /** Drops the bodies. */
  release(): void {
    this.passed = null;
    this.received = null;
  }

  /** Whether the provider cannot continue its stored history. */
  get isUnableToContinue(): boolean {
    return this.#kept !== null && this.admission.options.dialect.refusesToContinue?.(this.#kept) === true;
  }

  /** Facts reported by the answer; a promise if it is compressed. Never throws or rejects. */
  answer(): Answer | Promise<Answer> {
    if (this.#tap) return this.#tap.end();
    const reader = new AnswerReader();
    if (this.#kept) reader.data(this.#kept);
    return reader.end();
  }
}

/** Reads a body of known length, then hands it on; `gone` is called if the client disconnects before. */
export function collectKnown(
  req: IncomingMessage,
  res: ServerResponse,
  size: number,
  whole: (body: Buffer) => void,
  gone: () => void,
): void {
  let body: Buffer | null = null;
  let at = 0;
  const done = (): void => {
    req.off('data', onData);
    res.off('close', onClose);
  };
  const onData = (chunk: Buffer): void => {
    if (body === null && chunk.length === size) body = chunk;
    else {
      body ??= Buffer.allocUnsafeSlow(size);
      chunk.copy(body, at);
    }
    at += chunk.length;
    if (at < size) return;
    req.pause();
    done();
    whole(body);
  };
  const onClose = (): void => {
    done();
    gone();
  };
  req.on('data', onData);
  res.on('close', onClose);
}
