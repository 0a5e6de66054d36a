import http, { type ClientRequest, type IncomingMessage } from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { headerIn } from './headers.ts';
import type { PassOn } from './pass-on.ts';

interface NodeHopOptions {
  readonly agent: http.Agent;
  readonly headersTimeoutMs: number;
  /** Maximum pause within an answer. */
  readonly bodyTimeoutMs: number;
  readonly maxHeaderSize: number;
}

/**
 * Sends requests through node:http, for upstreams that send an unsolicited `100 Continue`, which undici rejects. About
 * 50 % slower than undici.
 */
export class NodeHop {
  readonly #options: NodeHopOptions;

  constructor(options: NodeHopOptions) {
    this.#options = options;
  }

  send(passOn: PassOn): void {
    const { origin, method, path, headers, body } = passOn.sent;
    const { agent, maxHeaderSize } = this.#options;
    const library = origin.startsWith('https:') ? https : http;
    const fields = [...headers];
    if (headerIn(fields, 'host') === '') fields.unshift('host', new URL(origin).host);
    if (Buffer.isBuffer(body)) fields.push('content-length', String(body.length));
    const req = library.request(origin, { method, path, agent, maxHeaderSize, headers: fields });
    this.#listen(req, passOn);
    if (body instanceof Readable) {
      body.on('error', (cause) => req.destroy(cause));
      body.pipe(req);
    } else req.end(body ?? undefined);
  }

  close(): void {
    this.#options.agent.destroy();
  }

  #listen(req: ClientRequest, passOn: PassOn): void {
    const { headersTimeoutMs, bodyTimeoutMs } = this.#options;
    let late = false;
    let answer: IncomingMessage | null = null;
    passOn.start({
      abort: () => req.destroy(),
      pause: () => answer?.pause(),
      resume: () => answer?.resume(),
    });
    req.setTimeout(headersTimeoutMs, () => {
      late = true;
      req.destroy();
    });
    req.on('response', (res) => {
      answer = res;
      req.setTimeout(bodyTimeoutMs);
      passOn.head(res.statusCode ?? 0, res.rawHeaders, res.statusMessage ?? '');
      res.on('data', (chunk: Buffer) => passOn.data(chunk));
      res.on('end', () => passOn.end(res.rawTrailers));
      res.on('error', (cause) => passOn.fail(late ? timeout() : cause));
    });
    // without a listener node:http destroys the connection silently
    req.on('upgrade', (_res, socket) => {
      socket.destroy();
      passOn.fail(Object.assign(new Error('switched protocols'), { code: 'HPE_INVALID_CONSTANT' }));
    });
    req.on('error', (cause) => {
      passOn.reused = req.reusedSocket;
      passOn.fail(late ? timeout() : cause);
    });
  }
}

function timeout(): Error {
  return Object.assign(new Error('the upstream did not respond in time'), { code: 'UND_ERR_HEADERS_TIMEOUT' });
}
