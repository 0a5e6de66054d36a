/**
 * Recovers original lines through the proxy's `POST /rpc`, as curl would.
 *
 * @param {string} origin - of the proxy
 * @param {{ pruneId: string, startLine: number, endLine: number }} cut - 1-based, inclusive
 * @returns {Promise<string>}
 */
export async function recoverText(origin, { pruneId, startLine, endLine }) {
  const ranges = [{ start_line: startLine, end_line: endLine }];
  const params = { name: 'recover_text', arguments: { prune_id: pruneId, ranges, include_line_numbers: false } };
  const response = await fetch(`${origin}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    signal: AbortSignal.timeout(10_000),
  });
  const answer = await response.json();
  const text = answer.result?.content?.[0]?.text;
  if (typeof text !== 'string') throw new Error(`recover_text answered ${JSON.stringify(answer)}`);
  return JSON.parse(text).raw_text;
}
