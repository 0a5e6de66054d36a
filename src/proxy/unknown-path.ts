import type { IncomingHttpHeaders } from 'node:http';

/** Provider paths below `/v1` and `/v1beta` that agent sessions never use. */
const NO_SESSION = new Set(
  `assistants audio batches cachedContents containers embeddings evals files fine_tuning images moderations ocr
  organizations realtime rerank skills threads tokenize uploads vector_stores videos`.split(/\s+/),
);
/** Gemini methods that generate no text: `/v1beta/models/<name>:embedContent`. */
const NO_SESSION_METHOD = /:(?:batchE|e)mbed\w*$|:countTokens$|:predict\w*$/;

/**
 * Whether an unread request may belong to a session: large JSON posted to an unknown path. Otherwise a client that
 * moves to a new path would silently save nothing.
 *
 * @param path - without the query
 * @param minBytes - minimum size of a prunable body
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
