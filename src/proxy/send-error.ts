import type { ServerResponse } from 'node:http';
import { type CodedRow, type ErrorCode, errorRow, errorTable } from '../errors/errors.ts';

/** Builds the JSON body of an error. */
export type ErrorBody = (status: number, code: string, message: string) => Buffer;

/** Error format expected by OpenAI clients. */
const openaiError: ErrorBody = (_status, code, message) =>
  Buffer.from(JSON.stringify({ error: { message, type: 'mcp_pruner_error', param: null, code } }));

/**
 * Answers with an entry of the error table.
 *
 * @param message - overrides the table's message, for a more specific remedy
 * @param bodyOf - the client's error format; default: OpenAI's
 */
export function sendError(
  res: ServerResponse,
  code: ErrorCode | CodedRow,
  message: string = errorRow(code).hint,
  status: number = errorRow(code).http ?? 500,
  bodyOf: ErrorBody = openaiError,
): void {
  if (res.headersSent || res.destroyed) {
    res.destroy();
    return;
  }
  const body = bodyOf(status, errorRow(code).code, message);
  res.statusCode = status;
  res.setHeader('content-type', 'application/json');
  res.setHeader('content-length', body.length);
  res.end(body);
}

/**
 * Reports to the client that the upstream request failed.
 *
 * @param code - from `upstreamErrorCode`; `timeout` maps to 504, all others to 502
 * @returns the status of the answer
 */
export function sendUpstreamError(res: ServerResponse, code: string, bodyOf?: ErrorBody): number {
  const isLate = code === 'timeout';
  const row = isLate ? 'upstream_timeout' : 'upstream_unreachable';
  const status = isLate ? 504 : 502;
  const why = isLate
    ? 'The upstream did not answer in time'
    : `${WHY[code] ?? 'The upstream cannot be reached'} (${code})`;
  sendError(res, row, `${why}. ${errorTable[row].hint}`, status, bodyOf);
  return status;
}

/** Explanations of failures other than an unreachable upstream. */
const WHY: Readonly<Record<string, string>> = {
  garbled: "The upstream's answer is not valid HTTP",
  reset: 'The upstream closed the connection before it answered',
  proxy_refused: 'The outbound proxy (HTTPS_PROXY) refused the tunnel',
};
