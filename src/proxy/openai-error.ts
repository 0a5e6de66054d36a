import type { ServerResponse } from 'node:http';
import { type ErrorCode, errorRow, errorTable } from '../errors.ts';

/**
 * Answers with a row of the table of errors, in the shape that OpenAI's clients read an error from.
 *
 * @param message - where the place knows better than the table what to do
 */
export function sendError(
  res: ServerResponse,
  code: ErrorCode,
  message: string = errorRow(code).hint,
  status: number = errorRow(code).http ?? 500,
): void {
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
    sendError(res, 'upstream_timeout', `The upstream did not answer in time. ${errorTable.upstream_timeout.hint}`);
    return 504;
  }
  const { hint } = errorTable.upstream_unreachable;
  sendError(res, 'upstream_unreachable', `The upstream cannot be reached (${code}). ${hint}`);
  return 502;
}
