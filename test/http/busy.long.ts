import { spawn, spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { compiled } from '../helpers/built.ts';
import { type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { type ServerProcess, startServerProcess } from '../helpers/server-process.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

const MINUTES = 60_000;
const BUSY_PER_CORE = 4;

beforeAll(() => void compiled('cli.js'), 2 * MINUTES);

/** Keeps every core busy until the test ends. */
function keepBusy(): void {
  for (let i = 0; i < BUSY_PER_CORE * availableParallelism(); i++) {
    const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    afterwards(() => child.kill('SIGKILL'));
  }
}

/** An answer that clients of all wires could read. */
const ANSWER = {
  choices: [{ index: 0, message: { role: 'assistant', content: 'Done.' }, finish_reason: 'stop' }],
  content: [{ type: 'text', text: 'Done.' }],
  candidates: [{ content: { role: 'model', parts: [{ text: 'Done.' }] }, finishReason: 'STOP' }],
  output: [],
};

/** A fresh server over a fresh store. */
async function freshServer(): Promise<{ readonly server: ServerProcess; readonly upstream: FakeUpstream }> {
  const upstream = await startUpstream((_request, res) => json(res, 200, ANSWER));
  const server = await startServerProcess({
    env: {
      MCP_PRUNER_UPSTREAM_URL: upstream.url,
      MCP_PRUNER_ANTHROPIC_URL: upstream.url,
      MCP_PRUNER_GEMINI_URL: `${upstream.url}beta`,
      MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db'),
    },
  });
  return { server, upstream };
}

async function post({ url }: ServerProcess, path: string, body: object): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  await answer.arrayBuffer();
  expect(answer.status).toBe(200);
}

const QUESTION = 'Why does the payment fail?';

/** A first request with a new result, by wire. */
const WIRES: readonly (readonly [wire: string, path: string, body: (name: string, output: string) => object])[] = [
  ['chat completions', '/v1/chat/completions', (name, output) => chatBody(name, [output])],
  [
    'messages',
    '/v1/messages',
    (name, output) => ({
      model: 'm',
      max_tokens: 100,
      messages: [
        { role: 'user', content: `${QUESTION} ${name}` },
        { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'bash', input: { command: name } }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c', content: output }] },
      ],
    }),
  ],
  [
    'responses',
    '/v1/responses',
    (name, output) => ({
      model: 'm',
      store: false,
      input: [
        { type: 'message', role: 'user', content: `${QUESTION} ${name}` },
        { type: 'function_call', call_id: 'c', name: 'shell', arguments: JSON.stringify({ command: name }) },
        { type: 'function_call_output', call_id: 'c', output },
      ],
    }),
  ],
  [
    'generateContent',
    '/v1beta/models/m:generateContent',
    (name, output) => ({
      contents: [
        { role: 'user', parts: [{ text: `${QUESTION} ${name}` }] },
        { role: 'model', parts: [{ functionCall: { id: 'c', name: 'run_shell_command', args: { command: name } } }] },
        {
          role: 'user',
          parts: [{ functionResponse: { id: 'c', name: 'run_shell_command', response: { output } } }],
        },
      ],
    }),
  ],
];

/** A conversation of chat completions in which a command printed each of these texts. */
function chatBody(name: string, outputs: readonly string[]): object {
  const turns = outputs.flatMap((content, i) => {
    const call = { name: 'bash', arguments: JSON.stringify({ command: `${name} ${i}` }) };
    return [
      { role: 'assistant', content: null, tool_calls: [{ id: `c${i}`, type: 'function', function: call }] },
      { role: 'tool', tool_call_id: `c${i}`, content },
    ];
  });
  return { model: 'm', messages: [{ role: 'user', content: `${QUESTION} ${name}.` }, ...turns] };
}

/** Bodies as they were forwarded, in an order that does not depend on when they arrived. */
function forwarded({ requests }: FakeUpstream): string[] {
  return requests.map(({ body }) => body.toString('utf8')).sort();
}

describe('with four busy processes per core', () => {
  it.each(WIRES)(
    'a fresh server cuts all of ten large new logs on %s',
    async (_wire, path, bodyOf) => {
      keepBusy();
      const { server, upstream } = await freshServer();
      const bodies = Array.from({ length: 10 }, (_, i) => bodyOf(`agent ${i}`, serverLog(3_000, i)));
      for (const body of bodies) await post(server, path, body);
      const shares = upstream.requests.map(({ body }, i) => body.length / JSON.stringify(bodies[i]).length);
      expect(shares.filter((share) => share < 0.5)).toHaveLength(10);
    },
    10 * MINUTES,
  );

  it(
    '500 texts get the same cuts as on an idle machine',
    async () => {
      const textOf = (i: number): string => (i % 3 === 0 ? sourceFile(60 + i, i) : serverLog(100 + 4 * i, i));
      const cut = async (): Promise<string[]> => {
        const { server, upstream } = await freshServer();
        const texts = Array.from({ length: 500 }, (_, i) => i).values();
        const send = async (): Promise<void> => {
          for (const i of texts) await post(server, '/v1/chat/completions', chatBody(`agent ${i}`, [textOf(i)]));
        };
        await Promise.all(Array.from({ length: 8 }, send));
        return forwarded(upstream);
      };
      const idle = await cut();
      keepBusy();
      expect(await cut()).toEqual(idle);
      expect(idle.filter((body) => body.includes('prune_id=')).length).toBeGreaterThan(300);
    },
    30 * MINUTES,
  );

  it(
    '48 agents that start at once get the same bytes from two fresh stores, with all logs cut',
    async () => {
      keepBusy();
      const run = async (): Promise<string[]> => {
        const { server, upstream } = await freshServer();
        const agent = async (name: string, seed: number): Promise<void> => {
          const outputs: string[] = [];
          for (let turn = 0; turn < 3; turn++) {
            outputs.push(serverLog(1_500, 3 * seed + turn));
            await post(server, '/v1/chat/completions', chatBody(name, outputs));
          }
        };
        await Promise.all(Array.from({ length: 48 }, (_, i) => agent(`agent ${i}`, i)));
        return forwarded(upstream);
      };
      const first = await run();
      expect(first.map((body) => body.match(/"role":"tool"/g)?.length)).toEqual(
        first.map((body) => body.match(/prune_id=/g)?.length),
      );
      expect(await run()).toEqual(first);
    },
    20 * MINUTES,
  );

  it(
    'the demo succeeds',
    () => {
      keepBusy();
      const env = { PATH: process.env.PATH ?? '', HOME: tempFolder() };
      const demo = spawnSync(process.execPath, [compiled('cli.js'), 'demo'], { encoding: 'utf8', env });
      expect([demo.status, demo.stderr]).toEqual([0, '']);
      expect(demo.stdout).toContain('exactly the original');
    },
    10 * MINUTES,
  );
});
