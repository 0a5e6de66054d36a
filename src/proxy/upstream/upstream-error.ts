import { errorCode } from '../../base/causes.ts';

/** Codes of a connection that ended or was reset before the answer began. */
const LOST = new Set(['ECONNRESET', 'EPIPE', 'UND_ERR_SOCKET']);

/** A short constant code for a failed upstream request. */
export function upstreamErrorCode(cause: unknown): string {
  const code = errorCode(cause);
  if (code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT') return 'timeout';
  if (code === 'UND_ERR_CONNECT_TIMEOUT') return 'connect_timeout';
  if (code === 'ECONNREFUSED') return 'refused';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'unknown_host';
  if (isUnexpectedContinue(cause)) return 'unexpected_continue';
  if (LOST.has(code)) return 'reset';
  if (code === 'UND_ERR_ABORTED') return 'proxy_refused'; // the outbound proxy refused the tunnel
  if (code.startsWith('HPE_') || code === 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH' || isParserError(cause)) {
    return 'garbled';
  }
  return code === '' ? 'error' : code.toLowerCase();
}

/** Whether the connection was lost, so that the request may not have been read. */
export function isLostConnection(cause: unknown): boolean {
  return LOST.has(errorCode(cause)) && !isUnexpectedContinue(cause);
}

/** Whether undici failed because of `100 Continue`, which a server may send unsolicited (RFC 9110 §15.2). */
export function isUnexpectedContinue(cause: unknown): boolean {
  return errorCode(cause) === 'UND_ERR_SOCKET' && cause instanceof Error && cause.message === 'bad response';
}

/** undici's parser has no error code for some kinds of invalid HTTP. */
function isParserError(cause: unknown): boolean {
  return cause instanceof Error && cause.name === 'HTTPParserError';
}
