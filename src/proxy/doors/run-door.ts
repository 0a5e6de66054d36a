import type { IncomingMessage } from 'node:http';
import { admitted, type Gatekeeper, pathOf } from './gatekeeper.ts';
import { runPath, withoutRun } from './run-path.ts';

/** Run id from the path of each request that `mcp-pruner run` started. */
const runs = new WeakMap<IncomingMessage, string>();

/** The run that an admitted request belongs to, or `''`. Runs of different access keys are different runs. */
export function runOf(req: IncomingMessage): string {
  const id = runs.get(req) ?? '';
  const keyId = admitted.get(req)?.keyId;
  return id === '' || keyId === undefined ? id : `${keyId}\n${id}`;
}

/** Notes the run id in the path of a request, and strips it from all paths but `/run/<id>` itself. */
export const runDoor: Gatekeeper = ({ req, next }) => {
  const { id: run, url } = withoutRun(req.url ?? '');
  if (run !== '' && req.url?.startsWith(runPath(run))) {
    runs.set(req, run);
    if (req.method !== 'GET' || pathOf(req) !== runPath(run)) req.url = url.replace(/^(?!\/)/, '/');
  }
  next();
};
