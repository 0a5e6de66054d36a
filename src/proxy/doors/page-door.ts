import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Gatekeeper, pathOf } from './gatekeeper.ts';

/** Paths that pages of allowed origins may call, optionally prefixed with an access key. */
const OPEN_TO_PAGES = /^\/(?:k\/[^/]+\/)?(?:rpc|mcp|prune|metrics)\/?$/;
/** How long a browser may remember the answer to a preflight, in seconds. */
const PREFLIGHT_S = 600;

/**
 * Lets pages of allowed origins read answers (CORS), including refusals by later doors. Answers preflights itself,
 * because they carry no credentials; the actual request is checked.
 *
 * @param origins - lower case
 */
export function pageDoor(origins: ReadonlySet<string>): Gatekeeper {
  return ({ req, answer, next, kind }) => {
    const { origin = '' } = req.headers;
    if (kind !== 'request' || !origins.has(origin.toLowerCase()) || !OPEN_TO_PAGES.test(pathOf(req))) return next();
    const res = answer();
    res.appendHeader('Vary', 'Origin');
    res.setHeader('Access-Control-Allow-Origin', origin);
    res.setHeader('Access-Control-Expose-Headers', 'WWW-Authenticate, Retry-After');
    if (isPreflight(req)) answerPreflight(req, res);
    else next();
  };
}

function isPreflight({ method, headers }: IncomingMessage): boolean {
  return method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
}

function answerPreflight({ headers }: IncomingMessage, res: ServerResponse): void {
  res.setHeader('Access-Control-Allow-Methods', 'POST');
  const asked = headers['access-control-request-headers'];
  if (asked !== undefined) res.setHeader('Access-Control-Allow-Headers', asked);
  res.appendHeader('Vary', 'Access-Control-Request-Headers');
  res.setHeader('Access-Control-Max-Age', PREFLIGHT_S);
  res.writeHead(204).end();
}
