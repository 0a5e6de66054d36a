import { type ClientRequest, Agent as HttpAgent, type IncomingMessage, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { Request, RequestHandler, Response } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { hopByHop, namedByConnection, ownHeader } from './headers.ts';
import { sendUpstreamError } from './openai-error.ts';
import { upstreamErrorCode } from './upstream.ts';

export interface PassthroughOptions {
  readonly upstreamUrl: string;
  /** Path and query at the upstream for a client's `/v1/…`. */
  readonly pathFor: (clientPath: string) => string;
  /** How long the upstream may take until its answer begins, in milliseconds; 0 for ever. */
  readonly headersTimeoutMs: number;
  /** Longest silence in the middle of an answer, in milliseconds; 0 for ever. */
  readonly bodyTimeoutMs: number;
  readonly onUpstreamError: (code: string) => void;
}

/** Forwards whatever is not ours to prune, untouched and streamed both ways. Mount it at `/v1`. */
export function passthrough(options: PassthroughOptions): RequestHandler {
  const { upstreamUrl, pathFor, headersTimeoutMs, bodyTimeoutMs, onUpstreamError } = options;
  // Without an agent of its own every request would open a connection.
  const agent = upstreamUrl.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true })
    : new HttpAgent({ keepAlive: true });
  const requests = new WeakMap<IncomingMessage, ClientRequest>();
  const late = new WeakSet<IncomingMessage>();

  const failed = (req: IncomingMessage, res: ServerResponse, cause: string): void => {
    const code = late.has(req) ? 'timeout' : cause;
    onUpstreamError(code);
    sendUpstreamError(res, code); // ends an answer that has begun
  };

  return createProxyMiddleware<Request, Response>({
    target: upstreamUrl,
    changeOrigin: true,
    agent,
    proxyTimeout: headersTimeoutMs,
    on: {
      proxyReq: (proxyReq, req, res) => {
        requests.set(req, proxyReq);
        proxyReq.path = pathFor(req.originalUrl); // http-proxy joins paths by rules of its own
        if (isChunked(req)) {
          // It also takes a DELETE or OPTIONS without a length for one without a body, and then sends the body.
          proxyReq.removeHeader('content-length');
          proxyReq.setHeader('transfer-encoding', 'chunked');
        }
        const named = namedByConnection(req.rawHeaders);
        for (const name of proxyReq.getHeaderNames()) {
          if ((hopByHop(name) && name !== 'transfer-encoding') || named.has(name) || ownHeader(name)) {
            proxyReq.removeHeader(name);
          }
        }
        proxyReq.once('timeout', () => late.add(req));
        // Nobody else would tell the client of an answer that switches to another protocol.
        proxyReq.once('upgrade', (_answer, socket) => {
          socket.destroy();
          failed(req, res, 'garbled');
        });
        res.once('close', () => proxyReq.destroy());
      },
      proxyRes: (proxyRes, req, res) => {
        requests.get(req)?.setTimeout(bodyTimeoutMs);
        for (const name of Object.keys(proxyRes.headers)) {
          if (hopByHop(name) && name !== 'transfer-encoding') delete proxyRes.headers[name];
        }
        proxyRes.once('close', () => {
          // An answer that broke off must not look like one that goes on.
          if (!proxyRes.complete && !res.destroyed) failed(req, res, 'reset');
        });
      },
      error: (cause, req, res) => {
        if (isResponse(res)) failed(req, res, upstreamErrorCode(cause));
        else res.destroy();
      },
    },
  });
}

/** Told by the fields as received; http-proxy changes the others. */
function isChunked({ rawHeaders }: IncomingMessage): boolean {
  return rawHeaders.some((name, i) => i % 2 === 0 && name.toLowerCase() === 'transfer-encoding');
}

function isResponse(res: object): res is ServerResponse {
  return 'headersSent' in res;
}
