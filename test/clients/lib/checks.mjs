import { isSigned } from './aws.mjs';
import { HOP_HEADER } from './hop.mjs';
import { rebuild } from './rebuild.mjs';
import { cutAtStrings, rawMessages, textOf } from './wire.mjs';

/** Headers that belong to one hop, or that fit the body and may change with it. */
const PER_HOP = new Set(['host', 'connection', 'content-length', 'keep-alive', 'transfer-encoding', 'via', HOP_HEADER]);

function isJson(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // a log line may begin with a bracket too
  }
}

/**
 * Compares a body as the client sent it with what arrived: every byte outside changed strings is the same, and every
 * changed string is the client's again once the markers in it are recovered. A string that holds JSON is looked into.
 *
 * @param {string} sent
 * @param {string} received
 * @param {(cut: { pruneId: string, startLine: number, endLine: number }) => Promise<string>} recover
 * @returns {Promise<{ failures: string[], changed: { before: number, after: number, markers: number }[] }>} sizes in
 *   characters of the decoded strings
 */
export async function compareBodies(sent, received, recover) {
  const before = cutAtStrings(sent);
  const after = cutAtStrings(received);
  if (before.length !== after.length) return { failures: ['another number of JSON strings arrived'], changed: [] };
  const failures = [];
  const changed = [];
  for (let i = 0; i < before.length; i++) {
    const [was, is] = [before[i] ?? '', after[i] ?? ''];
    if (was === is) continue;
    if (i % 2 === 0) {
      failures.push(`bytes outside strings changed: ${was.slice(0, 40)} became ${is.slice(0, 40)}`);
      continue;
    }
    const [original, pruned] = [JSON.parse(was), JSON.parse(is)];
    if (isJson(original) && isJson(pruned)) {
      const nested = await compareBodies(original, pruned, recover);
      const markers = nested.changed.reduce((sum, each) => sum + each.markers, 0);
      failures.push(...nested.failures.map((text) => `in JSON in a string: ${text}`));
      changed.push({ before: original.length, after: pruned.length, markers });
      continue;
    }
    const rebuilt = await rebuild(pruned, recover);
    if (rebuilt.markers === 0) failures.push(`a string changed without a marker: ${is.slice(0, 80)}`);
    else if (rebuilt.text !== original) failures.push('kept lines and recovered ranges are not what the client sent');
    changed.push({ before: original.length, after: pruned.length, markers: rebuilt.markers });
  }
  return { failures, changed };
}

/**
 * Where request k + 1 does not begin with the messages of request k. A message that the client itself sent otherwise
 * the second time is not counted.
 *
 * @param {readonly { sent: string, received: string, list: string }[]} pairs - requests of one conversation, in order;
 *   `list` names where it stands
 * @returns {{ failures: string[], movedByClient: number }}
 */
export function comparePrefixes(pairs) {
  const failures = [];
  let movedByClient = 0;
  for (let k = 0; k + 1 < pairs.length; k++) {
    const [sentNow, sentNext] = [pairs[k], pairs[k + 1]].map((pair) => rawMessages(pair?.sent ?? '', pair?.list));
    const [now, next] = [pairs[k], pairs[k + 1]].map((pair) => rawMessages(pair?.received ?? '', pair?.list));
    if (next === undefined || now === undefined || next.length < now.length) {
      failures.push(`request ${k + 2} has fewer messages than request ${k + 1}`);
      continue;
    }
    now.forEach((element, i) => {
      if (sentNow?.[i] !== sentNext?.[i]) movedByClient++;
      else if (element !== next[i]) failures.push(`message ${i} of request ${k + 2} is not as in request ${k + 1}`);
    });
  }
  return { failures, movedByClient };
}

/**
 * Tool calls without a result, and results without a call.
 *
 * @param {{ messages: { role: string, tool_call_id?: string, tool_calls?: { id: string }[] }[] }} body
 * @returns {string[]}
 */
export function unpairedCalls(body) {
  const made = body.messages.flatMap((message) => (message.tool_calls ?? []).map((call) => call.id));
  const answered = body.messages.flatMap((message) => (message.role === 'tool' ? [message.tool_call_id ?? ''] : []));
  return [
    ...made.filter((id) => !answered.includes(id)).map((id) => `no result for call ${id}`),
    ...answered.filter((id) => !made.includes(id)).map((id) => `no call for result ${id}`),
  ];
}

/** What a new signature changes. */
const SIGNATURE = new Set(['authorization', 'x-amz-date', 'x-amz-content-sha256']);

/** End-to-end headers that did not arrive as they were sent. The proxy signs pruned requests anew. */
export function changedHeaders(sent, received) {
  const named = String(sent.connection ?? '')
    .toLowerCase()
    .split(/\s*,\s*/);
  return Object.keys({ ...sent, ...received })
    .filter((name) => !PER_HOP.has(name) && !named.includes(name))
    .filter((name) => !isSigned(sent) || !SIGNATURE.has(name))
    .filter((name) => String(sent[name]) !== String(received[name]))
    .map((name) => `header ${name} did not arrive as sent`);
}

/**
 * Whether a recovered text came back whole as the result of the call that asked for it, in whatever the client wraps
 * around it: JSON in a string in JSON as a rule.
 *
 * @param {{ messages: any[] }} body - as it arrived upstream
 * @param {(cut: { pruneId: string, startLine: number, endLine: number }) => Promise<string>} recover
 * @returns {Promise<string[]>} failures
 */
export async function checkRecovered(body, recover) {
  const call = body.messages.flatMap((message) => message.tool_calls ?? []).find(({ id }) => id.endsWith('_recover'));
  const result = body.messages.find((message) => message.role === 'tool' && message.tool_call_id === call?.id);
  if (call === undefined || result === undefined) return ['recover_text was not called'];
  const args = JSON.parse(call.function.arguments);
  const { prune_id: pruneId, ranges } = args.arguments ?? args; // a call by way of another tool holds the arguments of this one
  const original = await recover({ pruneId, startLine: ranges[0].start_line, endLine: ranges[0].end_line });
  let wanted = original;
  for (let depth = 0; depth < 4; depth++) {
    if (textOf(result).includes(wanted)) return [];
    wanted = JSON.stringify(wanted).slice(1, -1);
  }
  return [`what recover_text gave did not come back whole: ${textOf(result).slice(0, 200)}`];
}
