import type { IncomingMessage } from 'node:http';
import { type Gatekeeper, pathOf } from './gatekeeper.ts';

/** The run of `mcp-pruner run` that sent a request, by the id in its path. */
const runs = new WeakMap<IncomingMessage, string>();

/** The run that a request belongs to, or `''`. */
export function runOf(req: IncomingMessage): string {
  return runs.get(req) ?? '';
}

/** `/run/<id>` before the path of a request. The id is random, and only the program that started the run has it. */
const PATH = /^\/run\/([0-9a-f]{32})(?=[/?]|$)/;

/**
 * Takes the id of a run out of the path, and answers `GET /run/<id>` with the figures of that run.
 *
 * @param figures - as JSON; a rejection is answered with 503
 */
export function runDoor(figures: (run: string) => Promise<object>): Gatekeeper {
  return ({ req, answer, next, kind }) => {
    const { url = '' } = req;
    const [mark = '', run = ''] = PATH.exec(url) ?? [];
    if (run === '') return next();
    if (kind === 'request' && req.method === 'GET' && pathOf(req) === mark) {
      const send = (status: number, body: object): void => {
        answer().writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
      };
      figures(run).then(
        (found) => send(200, found),
        () => send(503, {}),
      );
      return;
    }
    runs.set(req, run);
    req.url = url.slice(mark.length).replace(/^(?!\/)/, '/');
    next();
  };
}
