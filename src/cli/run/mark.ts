import { randomBytes } from 'node:crypto';
import { runPath, withoutRun } from '../../proxy/doors/run-path.ts';

/** A new run, and the base URL by which the proxy knows its requests. */
export function markedRun(proxyUrl: string): { readonly id: string; readonly url: string } {
  const id = randomBytes(16).toString('hex');
  return { id, url: proxyUrl + runPath(id) };
}

/** A base URL without the mark of a run. */
export function unmarked(url: string): string {
  return withoutRun(url).url;
}
