import { FACTS } from '../lib/project.mjs';
import { finalAnswer } from '../lib/upstream.mjs';
import { conversationOf, wireOf } from '../lib/wires.mjs';

/** @typedef {{ nonce: string, manifest: object, logs: object[], events: object[], seen: object[], answer: string | null,
 *   secrets: string[] }} Run */

/** Requests that a model answered. */
function modelRequests(seen) {
  return seen.filter(({ method, path }) => method === 'POST' && wireOf(path) !== undefined);
}

/** What holds of every child, however it ended. */
function checkAny({ manifest, logs, events, seen, secrets }) {
  const failures = [];
  const requests = modelRequests(seen);
  if (manifest.usage.messages !== requests.length)
    failures.push(`${manifest.usage.messages} requests were counted, ${requests.length} arrived`);
  if (manifest.usage.tokens === 0) failures.push('no tokens were counted');
  const shown = JSON.stringify({ manifest, logs, events });
  for (const secret of secrets) if (shown.includes(secret)) failures.push(`a secret is shown: ${secret}`);
  if (/child\/[0-9a-f]{32}/.test(shown)) failures.push('the address of the child is shown');
  const upstream = JSON.stringify(requests.map(({ path, headers }) => ({ path, headers })));
  if (/child/.test(upstream)) failures.push('the provider learned of the child');
  return failures;
}

/** @param {Run} run - of a child that was to end by itself */
export function checkWhole(run) {
  const { manifest, seen, answer, nonce, events } = run;
  const failures = checkAny(run);
  if (manifest.state !== 'terminated' || manifest.exit_code !== 0)
    failures.push(`it ended as ${manifest.state}, exit code ${manifest.exit_code}, ${manifest.stop_reason}`);
  if (answer !== finalAnswer(nonce, FACTS)) failures.push(`the answer is ${JSON.stringify(answer)}`);
  const last = seen.findLast(({ step }) => step === 'answer');
  const results =
    last === undefined ? [] : conversationOf(last.path, last.body).messages.filter(({ role }) => role === 'tool');
  const pruned = results.filter((result) => JSON.stringify(result).includes('⟦PRUNÉ'));
  if (pruned.length !== 1) failures.push(`${pruned.length} large results were pruned, not the log alone`);
  for (const kind of ['child_created', 'child_started', 'request', 'child_ended'])
    if (!events.some((event) => event.kind === kind)) failures.push(`no event ${kind}`);
  return failures;
}

/** @param {Run} run - of a child that was to be stopped by a limit of requests */
export function checkLimited(run, { messages }) {
  const { manifest, seen, events } = run;
  const failures = checkAny(run);
  const arrived = modelRequests(seen).length;
  if (arrived !== messages) failures.push(`${arrived} requests arrived, ${messages} were allowed`);
  const shown = events.filter(({ kind }) => kind === 'child_limit_exceeded');
  if (shown.length !== 1) failures.push(`child_limit_exceeded is reported ${shown.length} times`);
  const byItself = manifest.stop_reason === null && manifest.exit_code !== null;
  if (!byItself && manifest.stop_reason !== 'limit:messages')
    failures.push(`it was stopped by ${manifest.stop_reason}`);
  return failures;
}
