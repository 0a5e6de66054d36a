import { describe, expect, it } from 'vitest';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const CONTENTS = [
  {
    role: 'user',
    parts: [{ text: '<session_context>\nlinux\n</session_context>' }, { text: 'Why does the checkout fail?' }],
  },
  {
    role: 'model',
    parts: [
      {
        functionCall: { id: 'c1', args: { command: 'npm start' }, name: 'run_shell_command' },
        thoughtSignature: 'c2ln',
      },
    ],
  },
  {
    role: 'user',
    parts: [{ functionResponse: { name: 'run_shell_command', response: { output: serverLog(900) }, id: 'c1' } }],
  },
];
const ANSWER = {
  candidates: [{ content: { role: 'model', parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }],
  usageMetadata: { promptTokenCount: 30, cachedContentTokenCount: 20, candidatesTokenCount: 4, thoughtsTokenCount: 1 },
};

describe('the gemini wire', () => {
  it('sends pruned requests to its own upstream, and logs the model from the path', async () => {
    const openai = await startUpstream();
    const google = await startUpstream((_request, res) => json(res, 200, ANSWER));
    const proxy = await startProxy(openai, {
      env: { MCP_PRUNER_GEMINI_URL: `http://127.0.0.1:${google.port}/api/v1beta` },
    });
    const post = (method: string): Promise<Response> =>
      fetch(`${proxy.url}/v1beta/models/gemini-test:${method}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-goog-api-key': 'key' },
        body: JSON.stringify({ contents: CONTENTS, systemInstruction: { parts: [{ text: 'Be terse.' }] } }),
      });
    await (await post('streamGenerateContent?alt=sse')).text();
    expect(google.last.url).toBe('/api/v1beta/models/gemini-test:streamGenerateContent?alt=sse');
    expect(google.last.headers['x-goog-api-key']).toBe('key');
    const sent = google.last.body;
    expect(sent.toString()).toContain('PRUN');
    expect(sent.toString()).toContain('"thoughtSignature":"c2ln"');
    // what is counted is what is billed
    await (await post('countTokens')).text();
    expect(google.last.body.equals(sent)).toBe(true);
    await (await fetch(`${proxy.url}/v1beta/models`)).text();
    expect(google.last.url).toBe('/api/v1beta/models');
    expect(openai.requests).toEqual([]);
    const [line] = await proxy.requestLines(2);
    expect(line).toMatchObject({
      wire: 'gemini',
      model: 'gemini-test',
      stream: true,
      pruned: 1,
      new: [{ tool: 'run_shell_command' }],
      promptTokens: 30,
      cachedTokens: 20,
      completionTokens: 5,
    });
  });

  it('begins each request with the previous one, because the model in its path stays the same', async () => {
    const google = await startUpstream((_request, res) => json(res, 200, ANSWER));
    const proxy = await startProxy(await startUpstream(), {
      env: { MCP_PRUNER_GEMINI_URL: `http://127.0.0.1:${google.port}/v1beta` },
    });
    const contents: unknown[] = [{ role: 'user', parts: [{ text: 'Why does the checkout fail?' }] }];
    const read = (i: number): void => {
      const response = { output: sourceFile(7, i) };
      contents.push({
        role: 'model',
        parts: [{ functionCall: { id: `c${i}`, name: 'read_file', args: { path: `${i}.ts` } } }],
      });
      contents.push({ role: 'user', parts: [{ functionResponse: { id: `c${i}`, name: 'read_file', response } }] });
    };
    for (let i = 0; i < 14; i++) read(i);
    let sent = '';
    for (let i = 14; i < 17; i++) {
      const url = `${proxy.url}/v1beta/models/gemini-test:generateContent`;
      await (await fetch(url, { method: 'POST', body: JSON.stringify({ contents }) })).text();
      const body = google.last.body.toString();
      expect(body.startsWith(sent)).toBe(true);
      sent = body.slice(0, body.lastIndexOf(']'));
      await proxy.requestLines(i - 13);
      read(i);
    }
  });

  it('answers in its own error format if the upstream is unreachable', async () => {
    const proxy = await startProxy(await startUpstream(), {
      env: { MCP_PRUNER_GEMINI_URL: 'http://127.0.0.1:9/v1beta' },
    });
    const answer = await fetch(`${proxy.url}/v1beta/models/gemini-test:generateContent`, {
      method: 'POST',
      body: JSON.stringify({ contents: CONTENTS }),
    });
    expect(answer.status).toBe(502);
    expect(await answer.json()).toMatchObject({ error: { code: 502, status: 'UNAVAILABLE' } });
  });
});
