import { AWS_KEY, isSigned, signatureFault } from './aws.mjs';
import { changedHeaders, checkRecovered, compareBodies, comparePrefixes, unpairedCalls } from './checks.mjs';
import { FACTS } from './project.mjs';
import { recoverText } from './rpc.mjs';
import { API_KEY } from './session.mjs';
import { finalAnswer } from './upstream.mjs';
import { conversationOf, wireOf } from './wires.mjs';

/** A tool result or attached file of this size, in characters, must go upstream pruned. */
const BIG = 8000;

/** Pairs what the relay saw with what arrived upstream. */
function pairsOf(session) {
  return session.exchanges.map((exchange) => ({
    exchange,
    sent: exchange.sent,
    received: session.received.find((each) => each.hop === exchange.id) ?? null,
  }));
}

/** What holds with and without the proxy. */
function checkTask(session, nonce) {
  const failures = [];
  const { result, answer } = session;
  const expected = finalAnswer(nonce, FACTS);
  if (result.timedOut) failures.push('the client did not end in time');
  else if (result.code !== 0) failures.push(`the client ended with code ${result.code}`);
  if (answer !== expected)
    failures.push(`the final answer is ${JSON.stringify(answer)}, not ${JSON.stringify(expected)}`);
  for (const { exchange, received } of pairsOf(session)) {
    if (received === null) failures.push(`${exchange.method} ${exchange.path} never arrived upstream`);
    else if (received.path !== exchange.path) failures.push(`${exchange.path} arrived as ${received.path}`);
    if (isSigned(exchange.headers)) {
      const fault = received && signatureFault(received);
      if (fault) failures.push(`${exchange.path}: ${fault}`);
    }
  }
  return failures;
}

/** Some clients hang up as soon as they have read the end of a stream, before it is over. */
function passedWhole(exchange, answer) {
  const got = exchange.answer.toString('utf8');
  return exchange.clientLeft ? answer.startsWith(got) : got === answer;
}

/** Requests of the task itself, in order; titles and the like are left out. */
const taskPairs = (session) =>
  pairsOf(session).filter(({ received }) => received !== null && received.step !== '' && received.step !== 'title');

/**
 * Judges a run through the proxy.
 *
 * @returns {Promise<{ failures: string[], requests: number, bytesBefore: number, bytesAfter: number, markers: number,
 *   results: { before: number, after: number, markers: number }[], movedByClient: number }>}
 */
export async function judge(session, nonce, expected) {
  const failures = checkTask(session, nonce);
  const known = new Map();
  const recover = async (cut) => {
    const key = JSON.stringify(cut);
    if (!known.has(key)) known.set(key, await recoverText(session.origin, cut));
    return known.get(key);
  };
  const pairs = taskPairs(session);
  let last = [];
  for (const { exchange, sent, received } of pairsOf(session)) {
    if (received === null) continue;
    const { failures: differences, changed } = await compareBodies(sent, received.body, recover);
    failures.push(...differences.map((text) => `request ${exchange.id}: ${text}`));
    failures.push(
      ...changedHeaders(exchange.headers, received.headers).map((text) => `request ${exchange.id}: ${text}`),
    );
    if (!passedWhole(exchange, received.answer))
      failures.push(`request ${exchange.id}: the answer did not pass as it came`);
    if (received === pairs.at(-1)?.received) last = changed;
  }
  const { failures: prefix, movedByClient } = comparePrefixes(
    pairs.map(({ sent, received }) => ({ sent, received: received.body, list: wireOf(received.path)?.list })),
  );
  failures.push(...prefix);
  for (const { received } of pairs) failures.push(...unpairedCalls(conversationOf(received.path, received.body)));
  for (const { exchange } of pairs) {
    if (!exchange.answerHeaders['x-mcp-pruner-request-id'])
      failures.push('an answer carries no request id of the proxy');
  }
  for (const secret of [API_KEY, AWS_KEY.secret, ...Object.values(FACTS)]) {
    if (session.proxyLog().includes(secret)) failures.push(`the proxy's log holds ${secret}`);
  }
  const [final] = pairs.slice(-1);
  if (expected.recovers && final !== undefined) {
    failures.push(...(await checkRecovered(conversationOf(final.received.path, final.received.body), recover)));
  }
  if (pairs.length !== expected.requests) {
    failures.push(`${pairs.length} requests of the task, ${expected.requests} without the proxy`);
  }
  const bigCut = last.filter(({ before }) => before >= BIG).length;
  if (bigCut !== 1) failures.push(`${bigCut} big texts were pruned, not the log alone`);
  return {
    failures: [...new Set(failures)],
    requests: pairs.length,
    wire: wireOf(pairs[0]?.received.path ?? '')?.name,
    ...sizes(pairs),
    markers: last.reduce((sum, each) => sum + each.markers, 0),
    results: last,
    movedByClient,
  };
}

/** Judges a run without the proxy; what it was is what the run through the proxy is held against. */
export function judgeDirect(session, nonce) {
  const failures = checkTask(session, nonce);
  const pairs = taskPairs(session);
  for (const { received } of pairs) failures.push(...unpairedCalls(conversationOf(received.path, received.body)));
  const wire = wireOf(pairs[0]?.received.path ?? '')?.name;
  return { failures: [...new Set(failures)], requests: pairs.length, wire, ...sizes(pairs) };
}

function sizes(pairs) {
  const bytes = (texts) => texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return {
    bytesBefore: bytes(pairs.map(({ sent }) => sent)),
    bytesAfter: bytes(pairs.map(({ received }) => received.body)),
  };
}
