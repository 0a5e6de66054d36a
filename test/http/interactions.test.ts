import { expect, it } from 'vitest';
import { type Answer, json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

const THOUGHT = { type: 'thought', signature: 'c2ln' };
const CALL = { type: 'function_call', id: 'c1', name: 'bash', arguments: { command: 'npm run checkout' } };
const QUESTION = { type: 'user_input', content: [{ type: 'text', text: 'Why does the checkout fail?' }] };
const RESULT = { type: 'function_result', call_id: 'c1', name: 'bash', result: serverLog(900) };
const USAGE = { total_input_tokens: 30, total_cached_tokens: 20, total_output_tokens: 4, total_thought_tokens: 1 };

it('a result on the interactions wire is cut when first sent, and repeated in that form afterwards', async () => {
  let isKept = true;
  const answer: Answer = ({ body }, res) => {
    const isContinued = body.includes('previous_interaction_id');
    if (isContinued && !isKept) json(res, 404, { error: { code: 404, message: 'gone', status: 'NOT_FOUND' } });
    else json(res, 200, { id: isContinued ? 'i2' : 'i1', steps: isContinued ? [] : [THOUGHT, CALL], usage: USAGE });
  };
  const google = await startUpstream(answer);
  const env = { MCP_PRUNER_GEMINI_URL: `http://127.0.0.1:${google.port}/v1beta` };
  const proxy = await startProxy(await startUpstream(), { env });
  const post = async (
    body: object,
    more: Record<string, string> = {},
  ): Promise<{ status: number; input: unknown[] }> => {
    const headers = { 'content-type': 'application/json', 'x-goog-api-key': 'key', ...more };
    const init = { method: 'POST', headers, body: JSON.stringify({ model: 'gemini-test', ...body }) };
    const { status } = await fetch(`${proxy.url}/v1beta/interactions`, init);
    return { status, input: (JSON.parse(google.last.body.toString()) as { input: unknown[] }).input };
  };
  await post({ input: [QUESTION] });
  const delta = { previous_interaction_id: 'i1', input: [RESULT] };
  const [first] = (await post(delta)).input as [{ result: string }];
  expect(first.result).toContain('⟦PRUNÉ');
  expect(google.last.url).toBe('/v1beta/interactions');
  const lines = await proxy.requestLines(2);
  expect(lines[1]).toMatchObject({
    ...{ wire: 'interactions', model: 'gemini-test', pruned: 1, new: [{ tool: 'bash' }] },
    ...{ conversationId: lines[0]?.conversationId, promptTokens: 30, cachedTokens: 20, completionTokens: 5 },
  });
  // another process has to look everything up, and nothing new is cut
  await proxy.restart();
  expect((await post(delta, { 'x-mcp-pruner': 'off' })).input).toEqual([first]);
  isKept = false;
  expect((await post(delta)).status).toBe(404);
  const replay = await post({ input: [QUESTION, THOUGHT, CALL, RESULT] });
  expect(replay.input.at(-1)).toEqual(first);
});
