import type { IncomingMessage } from 'node:http';
import { type Gatekeeper, pathOf } from './gatekeeper.ts';
import { runPath, withoutRun } from './run-path.ts';

/** The run of `mcp-pruner run` that sent a request, by the id in its path. */
const runs = new WeakMap<IncomingMessage, string>();

/** The run that a request belongs to, or `''`. */
export function runOf(req: IncomingMessage): string {
  return runs.get(req) ?? '';
}

/**
 * Takes the id of a run out of the path, and answers `GET /run/<id>` with the figures of that run.
 *
 * @param figures - as JSON; a rejection is answered with 503. `waits`: `?wait=1` asks for them once the run's requests have
 * ended
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
