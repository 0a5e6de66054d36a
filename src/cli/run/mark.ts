import { randomBytes } from 'node:crypto';

/** A new run, and the base URL by which the proxy knows its requests. */
export function markedRun(proxyUrl: string): { readonly id: string; readonly url: string } {
  const id = randomBytes(16).toString('hex');
  return { id, url: `${proxyUrl}/run/${id}` };
}

/** A base URL without the mark of a run. */
export function unmarked(url: string): string {
  return url.replace(/\/run\/[0-9a-f]{32}(?=\/|$)/, '');
}
