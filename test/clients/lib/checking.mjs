import { fileURLToPath } from 'node:url';
import { load } from '../../../bench/load.mjs';
import { FACTS } from './project.mjs';
import { finalAnswer, scriptOf } from './upstream.mjs';
import { wireNamed } from './wires.mjs';

/** The set-ups whose wires and models check. */
export const CHECKED_SETUPS = new Set([
  ...['claude', 'claude-run', 'codex', 'codex-socket', 'codex-run', 'pi-messages', 'pi-responses', 'pi-run'],
  ...['opencode-messages-mcp', 'opencode-responses-mcp'],
]);

const UPSTREAM = fileURLToPath(new URL('../../../bench/conformance/upstream.ts', import.meta.url));

/**
 * The model of the tests behind the upstreams of the conformance kit: they check what the providers check, and give out reasoning
 * that is bound to what came before it (docs/conformance.md).
 *
 * @param {{ nonce: string, steps: readonly string[], calls: object, work: string, port?: number }} options - as of `startUpstream`
 */
export async function startCheckingUpstream({ port = 0, ...play }) {
  const { CheckingUpstream } = await load(UPSTREAM);
  const script = scriptOf(play);
  const next = (conversation) => {
    try {
      return script(conversation);
    } catch (cause) {
      return { step: 'answer', text: String(cause), calls: [] }; // the client ends with it
    }
  };
  const seen = [];
  const upstream = new CheckingUpstream((wire, body) => {
    const { step, text, calls } = next(wireNamed(wire).read(body));
    seen.push({ hop: '', step });
    return { says: text, calls: calls.map(({ id: _, ...call }) => call) };
  });
  await upstream.start(port);
  return { url: upstream.origin, seen, strangers: upstream.strangers, close: () => upstream.close() };
}

/**
 * Judges a run behind the checking upstreams in which the proxy was switched.
 *
 * @returns {{ failures: string[], wire: string, requests: number, reasoning: number, breaks: number, cuts: number }} `reasoning`:
 *   blocks that the client sent back, in all requests together; `breaks`: requests with one that did not fit, or with a changed item
 */
export function judgeChecked({ answer, result, strangers, wasSwitched }, nonce) {
  const all = [...strangers.values()];
  const sum = (count) => all.reduce((total, stranger) => total + count(stranger), 0);
  const breaks = all.flatMap((stranger) => stranger.breaks);
  const [longest] = all.sort((a, b) => b.requests - a.requests);
  const counts = {
    wire: longest?.wire,
    requests: sum(({ requests }) => requests),
    reasoning: sum(({ reasoning }) => reasoning),
    breaks: breaks.length,
    cuts: sum(({ results }) => [...results.values()].filter((text) => text.includes('⟦PRUNÉ')).length),
  };
  const failures = breaks.map(
    ({ effect, request, item, was, is }) => `${effect} in request ${request}, item ${item}: ${was} → ${is}`,
  );
  if (result.code !== 0) failures.push(`the client ended with code ${result.code}`);
  if (answer !== finalAnswer(nonce, FACTS)) failures.push(`the final answer is ${JSON.stringify(answer)}`);
  if (counts.reasoning === 0) failures.push('the client sent no reasoning back');
  if (counts.cuts === 0) failures.push('nothing was cut');
  if (!wasSwitched) failures.push('the session was over before the switch');
  return { ...counts, failures };
}
