import type { ServerResponse } from 'node:http';

/** Answers in the shape that OpenAI's clients read an error from. */
export function sendError(res: ServerResponse, status: number, code: string, message: string): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const body = Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } }));
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', body.length);
  res.end(body);
}

/**
 * Tells a client that the upstream could not be asked.
 *
 * @param code - as `upstreamErrorCode` has it; `timeout` is a 504, anything else a 502
 * @returns the status of the answer
 */
export function sendUpstreamError(res: ServerResponse, code: string): number {
  if (code === 'timeout') {
    const hint = 'Raise MCP_PRUNER_UPSTREAM_HEADERS_TIMEOUT_MS if it needs longer.';
    sendError(res, 504, 'upstream_timeout', `The upstream did not answer in time. ${hint}`);
    return 504;
  }
  const hint = 'Check MCP_PRUNER_UPSTREAM_URL and the network, then try again.';
  sendError(res, 502, 'upstream_unreachable', `The upstream cannot be reached (${code}). ${hint}`);
  return 502;
}
