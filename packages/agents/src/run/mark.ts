import { randomBytes } from 'node:crypto';
import { runPath, withoutRun } from 'mcp-pruner/proxy/doors/run-path.ts';

/** Creates a run id, and the base URL by which the proxy identifies the run's requests. */
export function markedRun(proxyUrl: string): { readonly id: string; readonly url: string } {
  const id = randomBytes(16).toString('hex');
  return { id, url: proxyUrl + runPath(id) };
}

export function unmarked(url: string): string {
  return withoutRun(url).url;
}
