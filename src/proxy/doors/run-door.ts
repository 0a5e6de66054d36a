import type { IncomingMessage } from 'node:http';
import { type Gatekeeper, pathOf } from './gatekeeper.ts';
import { runPath, withoutRun } from './run-path.ts';

/** Run id from the path of each request that `mcp-pruner run` started. */
const runs = new WeakMap<IncomingMessage, string>();

/** The run that a request belongs to, or `''`. */
export function runOf(req: IncomingMessage): string {
  return runs.get(req) ?? '';
}

/**
 * Strips the run id from the path, and answers `GET /run/<id>` with the run's figures.
 *
 * @param figures - as JSON; a rejection is answered with 503. `waits` is set by `?wait=1`, which waits until the run's
 * requests have ended
 */
export function runDoor(figures: (run: string, waits: boolean) => Promise<object>): Gatekeeper {
  return ({ req, answer, next, kind }) => {
    const { id: run, url } = withoutRun(req.url ?? '');
    if (run === '' || !req.url?.startsWith(runPath(run))) return next();
    if (kind === 'request' && req.method === 'GET' && pathOf(req) === runPath(run)) {
      const send = (status: number, body: object): void => {
        answer().writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      figures(run, url.endsWith('?wait=1')).then(
        (found) => send(200, found),
        () => send(503, {}),
      );
      return;
    }
    runs.set(req, run);
    req.url = url.replace(/^(?!\/)/, '/');
    next();
  };
}
