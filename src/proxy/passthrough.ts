import { Agent as HttpAgent, type ServerResponse } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import type { RequestHandler } from 'express';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { namedByConnection, ownHeader } from './headers.ts';
import { sendError } from './openai-error.ts';
import { upstreamErrorCode } from './upstream.ts';

export interface PassthroughOptions {
  readonly upstreamUrl: string;
  /** Longest silence of the upstream, in milliseconds. */
  readonly timeoutMs: number;
  readonly onUpstreamError: (code: string) => void;
}

const NOT_FORWARDED = ['te', 'trailer', 'keep-alive', 'proxy-connection', 'proxy-authorization', 'upgrade'];

/** Forwards whatever is not ours to prune, untouched and streamed both ways. Mount it at `/v1`. */
export function passthrough({ upstreamUrl, timeoutMs, onUpstreamError }: PassthroughOptions): RequestHandler {
  // Without an agent of its own every request would open a connection.
  const agent = upstreamUrl.startsWith('https:')
    ? new HttpsAgent({ keepAlive: true })
    : new HttpAgent({ keepAlive: true });
  return createProxyMiddleware({
    target: upstreamUrl.replace(/\/+$/, ''),
    changeOrigin: true,
    agent,
    proxyTimeout: timeoutMs,
    on: {
      proxyReq: (proxyReq, req, res) => {
        for (const name of [...NOT_FORWARDED, ...namedByConnection(req.rawHeaders)]) {
          if (name !== 'connection') proxyReq.removeHeader(name);
        }
        for (const name of proxyReq.getHeaderNames()) if (ownHeader(name)) proxyReq.removeHeader(name);
        res.once('close', () => proxyReq.destroy());
      },
      error: (cause, _req, res) => {
        const code = upstreamErrorCode(cause);
        onUpstreamError(code);
        if (isResponse(res)) {
          sendError(
            res,
            502,
            'upstream_unreachable',
            `The upstream cannot be reached (${code}). Check MCP_PRUNER_UPSTREAM_URL and the network, then try again.`,
          );
        } else res.destroy();
      },
    },
  });
}

function isResponse(res: object): res is ServerResponse {
  return 'headersSent' in res;
}
