import type { IncomingHttpHeaders } from 'node:http';

/** Provider paths below `/v1` and `/v1beta` that no agent session uses. */
const NO_SESSION = new Set(
  `assistants audio batches cachedContents containers embeddings evals files fine_tuning images moderations ocr
  organizations realtime rerank skills threads tokenize uploads vector_stores videos`.split(/\s+/),
);
/** Methods of Gemini's models without generated text: `/v1beta/models/<name>:embedContent`. */
const NO_SESSION_METHOD = /:(?:batchE|e)mbed\w*$|:countTokens$|:predict\w*$/;

/**
 * Whether an unread request may belong to a session: JSON, large enough to prune, posted to a path with no other known
 * purpose. A client that has moved to such a path would save nothing, and nobody would notice.
 *
 * @param path - without its query
 * @param minBytes - smaller bodies have nothing to prune
 */
export function mayBeSession(
  method: string | undefined,
  path: string,
  headers: IncomingHttpHeaders,
  minBytes: number,
): boolean {
  if (method !== 'POST' || !/^application\/(?:[\w.-]+\+)?json\b/i.test(headers['content-type'] ?? '')) return false;
  if (Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) < minBytes) return false;
  return !NO_SESSION_METHOD.test(path) && !path.split('/').some((part) => NO_SESSION.has(part));
}
