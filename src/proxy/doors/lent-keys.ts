import type { IncomingMessage, ServerResponse } from 'node:http';
import { decodedStart, isDecodable } from '../encodings.ts';
import { headerIn, pairsOf } from '../upstream/headers.ts';

/** Masks for the provider keys that the proxy added, to hide them if the upstream echoes them. */
export const lentKeys = new WeakMap<IncomingMessage, SecretMask>();

/** Lends a key to a further request with the same head, and hides it in the answer. */
type Lender = (req: IncomingMessage, res: ServerResponse) => void;

/** Requests to which a key was lent. */
export const lenders = new WeakMap<IncomingMessage, Lender>();

/** A shorter prefix of a secret at the end of a chunk is sent at once, because it reveals little. */
const MIN_HELD_BYTES = 8;
/** Maximum size of a compressed error that is held back to be searched. */
const MAX_HELD_BYTES = 64 * 1024;
const MAX_DECODED_BYTES = 1024 * 1024;
const STAR = '*';
const ENCODING = 'content-encoding';
const LENGTH = 'content-length';

/** Replaces a secret by stars of equal length. */
export class SecretMask {
  readonly #secret: Buffer;
  readonly #text: string;

  constructor(secret: string) {
    this.#text = secret;
    this.#secret = Buffer.from(secret, 'latin1');
  }

  inText(text: string): string {
    return text.replaceAll(this.#text, STAR.repeat(this.#text.length));
  }

  /** Returns the same bytes, or a masked copy. */
  inBytes(bytes: Buffer): Buffer {
    let at = bytes.indexOf(this.#secret);
    if (at < 0) return bytes;
    const copy = Buffer.from(bytes);
    for (; at >= 0; at = copy.indexOf(this.#secret, at)) copy.fill(STAR, at, at + this.#secret.length);
    return copy;
  }

  /** Number of trailing bytes that may be the beginning of the secret. */
  #begunIn(bytes: Buffer): number {
    const [first = 0] = this.#secret;
    const from = Math.max(0, bytes.length - this.#secret.length + 1);
    for (let at = bytes.indexOf(first, from); at >= 0; at = bytes.indexOf(first, at + 1)) {
      const length = bytes.length - at;
      if (bytes.compare(this.#secret, 0, length, at) === 0) return length;
    }
    return 0;
  }

  /** Masks a stream. The returned function takes each chunk, then `null`, and returns the bytes to send. */
  stream(): (chunk: Buffer | null) => Buffer {
    /** Prefix of the secret at the end of the last chunk, and how much of it was already sent. */
    let begun: Buffer = Buffer.alloc(0);
    let sent = 0;
    return (chunk) => {
      if (chunk === null) return begun.subarray(sent);
      const bytes = this.inBytes(begun.length > 0 ? Buffer.concat([begun, chunk]) : chunk);
      const from = sent;
      const length = this.#begunIn(bytes);
      const begunAt = bytes.length - length;
      const end = length < MIN_HELD_BYTES ? bytes.length : Math.max(from, begunAt);
      begun = Buffer.from(bytes.subarray(begunAt));
      sent = end - begunAt;
      return bytes.subarray(from, end);
    };
  }
}

const masked = new WeakSet<ServerResponse>();

/** Whether a secret is hidden in an answer. */
export function isMasked(res: ServerResponse): boolean {
  return masked.has(res);
}

/**
 * Hides a secret in the status line, headers, body and trailers of an answer. Streams are not delayed, except for bytes
 * that may begin the secret. Compressed answers are only searched if they are errors of up to 64 KiB; requests with the
 * proxy's key ask for uncompressed answers.
 */
export function maskAnswer(res: ServerResponse, mask: SecretMask): void {
  masked.add(res);
  const answer = new MaskedAnswer(res, mask);
  res.writeHead = ((status: number, ...rest: unknown[]) => answer.head(status, rest)) as typeof res.writeHead;
  res.write = ((...args: unknown[]) => answer.write(args)) as typeof res.write;
  res.end = ((...args: unknown[]) => answer.end(args)) as typeof res.end;
  const { addTrailers } = res;
  res.addTrailers = ((trailers: [string, string][]) =>
    addTrailers.call(
      res,
      trailers.map(([name, value]): [string, string] => [name, mask.inText(value)]),
    )) as typeof res.addTrailers;
}

/** A compressed error answer that is held back. */
interface HeldError {
  readonly status: number;
  readonly message: string;
  /** Headers passed to `writeHead`: name, value, … */
  readonly fields: string[] | null;
  readonly encoding: string;
  readonly chunks: Buffer[];
  size: number;
}

/** A `ServerResponse` method that accepts all of its overloads. */
type Method = (...args: unknown[]) => unknown;

class MaskedAnswer {
  readonly #res: ServerResponse;
  readonly #mask: SecretMask;
  readonly #stream: (chunk: Buffer | null) => Buffer;
  readonly #methods: Readonly<Record<'writeHead' | 'write' | 'end', Method>>;
  #held: HeldError | null = null;

  /** Whether the head is held back until the body is complete. */
  get isHeld(): boolean {
    return this.#held !== null;
  }

  constructor(res: ServerResponse, mask: SecretMask) {
    const { writeHead, write, end } = res;
    this.#res = res;
    this.#mask = mask;
    this.#stream = mask.stream();
    this.#methods = { writeHead: writeHead as Method, write: write as Method, end: end as Method };
  }

  /** @param rest - reason phrase and headers, as for `writeHead` */
  head(status: number, rest: readonly unknown[]): ServerResponse {
    const res = this.#res;
    const message = this.#mask.inText(typeof rest[0] === 'string' ? rest[0] : (res.statusMessage ?? ''));
    for (const name of res.getHeaderNames()) {
      const value = res.getHeader(name);
      if (Array.isArray(value))
        res.setHeader(
          name,
          value.map((one) => this.#mask.inText(one)),
        );
      else if (typeof value === 'string') res.setHeader(name, this.#mask.inText(value));
    }
    const fields = fieldsIn(rest)?.map((field) => this.#mask.inText(field)) ?? null;
    const encoding = this.#encoding(status, fields ?? []);
    if (encoding === null) return this.#sendHead({ status, message, fields });
    res.statusCode = status;
    this.#held = { status, message, fields, encoding, chunks: [], size: 0 };
    return res;
  }

  /** The encoding of a compressed error; `null` for other answers. */
  #encoding(status: number, fields: readonly string[]): string | null {
    if (status < 400) return null;
    const encoding = headerIn(fields, ENCODING) || String(this.#res.getHeader(ENCODING) ?? '');
    const name = encoding.trim().toLowerCase();
    return isDecodable(name) ? name : null;
  }

  write(args: readonly unknown[]): boolean {
    const bytes = bytesOf(args);
    if (!this.#res.headersSent && this.#held === null) this.head(this.#res.statusCode, []);
    const held = this.#held;
    if (held === null) {
      if (bytes.length === 0) return this.#methods.write.call(this.#res, bytes) === true; // only sends the head
      const known = this.#stream(bytes);
      if (known.length > 0) return this.#send('write', known, args);
      for (const done of args) if (typeof done === 'function') process.nextTick(done as () => void);
      return true;
    }
    held.chunks.push(Buffer.from(bytes)); // the caller may reuse its buffer
    held.size += bytes.length;
    if (held.size > MAX_HELD_BYTES) this.#release(held);
    return true;
  }

  end(args: readonly unknown[]): ServerResponse {
    const bytes = bytesOf(args);
    const { headersSent, statusCode } = this.#res;
    if (!headersSent && !this.isHeld && this.#encoding(statusCode, []) !== null) this.head(statusCode, []);
    const held = this.#held;
    if (held === null) return this.#send('end', Buffer.concat([this.#stream(bytes), this.#stream(null)]), args);
    held.chunks.push(bytes);
    const decoded = decodedStart(Buffer.concat(held.chunks), held.encoding, MAX_DECODED_BYTES);
    const plain = this.#mask.inBytes(decoded);
    if (plain === decoded) {
      this.#release(held);
      return this.#send('end', Buffer.alloc(0), args);
    }
    this.#held = null;
    for (const name of [ENCODING, LENGTH]) this.#res.removeHeader(name);
    const kept = pairsOf(held.fields ?? []).filter(([name]) => ![ENCODING, LENGTH].includes(name.toLowerCase()));
    this.#sendHead({ ...held, fields: [...kept.flat(), LENGTH, String(plain.length)] });
    return this.#send('end', plain, args);
  }

  /** Sends a held error unchanged. */
  #release(held: HeldError): void {
    this.#held = null;
    this.#sendHead(held);
    for (const chunk of held.chunks) if (chunk.length > 0) this.#methods.write.call(this.#res, chunk);
  }

  #sendHead({ status, message, fields }: Pick<HeldError, 'status' | 'message' | 'fields'>): ServerResponse {
    const args = [...(message === '' ? [] : [message]), ...(fields === null ? [] : [fields])];
    return Reflect.apply(this.#methods.writeHead, this.#res, [status, ...args]) as ServerResponse;
  }

  /** Calls a method with other bytes but the same callback. */
  #send<M extends 'write' | 'end'>(method: M, bytes: Buffer, args: readonly unknown[]): ReturnType<ServerResponse[M]> {
    const callback = args.filter((arg) => typeof arg === 'function');
    const sent = [...(bytes.length > 0 ? [bytes] : []), ...callback];
    return Reflect.apply(this.#methods[method], this.#res, sent) as ReturnType<ServerResponse[M]>;
  }
}

/** Headers passed to `writeHead`: name, value, …; `null` if none were passed. */
function fieldsIn(rest: readonly unknown[]): string[] | null {
  const headers = rest.find((arg) => typeof arg === 'object' && arg !== null) ?? null;
  if (headers === null) return null;
  return (Array.isArray(headers) ? headers : Object.entries(headers).flat()).map(String);
}

/** Bytes passed to `write` or `end`. */
function bytesOf([chunk, encoding]: readonly unknown[]): Buffer {
  if (typeof chunk === 'string')
    return Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8');
  return chunk instanceof Uint8Array ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength) : Buffer.alloc(0);
}
