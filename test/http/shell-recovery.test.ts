import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readReport } from '@mcp-pruner/ledger/ledger.ts';
import { expect, it } from 'vitest';
import { lineAt, splitLines } from '../../src/engine/text/lines.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { run as program } from '../cli/fake-io.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const run = promisify(execFile);

/** A turn of an agent: the shell command that it ran, and its output. */
type Turn = readonly [command: string, output: string];

const QUESTION = 'Why does the checkout fail for some customers? Find the failing payment.';

/** A body of any of the wires. */
interface Body {
  readonly messages: readonly { readonly role: string; readonly content: string | readonly { content?: string }[] }[];
  readonly input: readonly { readonly output?: string }[];
  readonly contents: readonly {
    readonly parts: readonly { readonly functionResponse?: { readonly response: { readonly output: string } } }[];
  }[];
}

/** The wires: how a conversation is sent, and the outputs of its commands in a body. */
const WIRES: Readonly<
  Record<string, { path: string; body: (turns: readonly Turn[]) => object; outputs: (body: Body) => string[] }>
> = {
  chat: {
    path: '/v1/chat/completions',
    body: (turns) => ({
      model: 'm',
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => {
          const call = { name: 'bash', arguments: JSON.stringify({ command }) };
          return [
            { role: 'assistant', content: null, tool_calls: [{ id: `c${i}`, type: 'function', function: call }] },
            { role: 'tool', tool_call_id: `c${i}`, content },
          ];
        }),
      ],
    }),
    outputs: ({ messages }) => messages.flatMap(({ role, content }) => (role === 'tool' ? String(content) : [])),
  },
  messages: {
    path: '/v1/messages',
    body: (turns) => ({
      model: 'm',
      max_tokens: 1_000,
      messages: [
        { role: 'user', content: QUESTION },
        ...turns.flatMap(([command, content], i) => [
          { role: 'assistant', content: [{ type: 'tool_use', id: `t${i}`, name: 'Bash', input: { command } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${i}`, content }] },
        ]),
      ],
    }),
    outputs: ({ messages }) =>
      messages.flatMap(({ content }) => (typeof content === 'string' ? [] : (content[0]?.content ?? []))),
  },
  responses: {
    path: '/v1/responses',
    body: (turns) => ({
      model: 'm',
      store: false,
      input: [
        { type: 'message', role: 'user', content: QUESTION },
        ...turns.flatMap(([command, output], i) => [
          { type: 'function_call', call_id: `f${i}`, name: 'shell', arguments: JSON.stringify({ command }) },
          { type: 'function_call_output', call_id: `f${i}`, output },
        ]),
      ],
    }),
    outputs: ({ input }) => input.flatMap(({ output }) => output ?? []),
  },
  generateContent: {
    path: '/v1beta/models/m:generateContent',
    body: (turns) => ({
      contents: [
        { role: 'user', parts: [{ text: QUESTION }] },
        ...turns.flatMap(([command, output], i) => [
          { role: 'model', parts: [{ functionCall: { id: `g${i}`, name: 'bash', args: { command } } }] },
          { role: 'user', parts: [{ functionResponse: { id: `g${i}`, name: 'bash', response: { output } } }] },
        ]),
      ],
    }),
    outputs: ({ contents }) => contents.flatMap(({ parts }) => parts[0]?.functionResponse?.response.output ?? []),
  },
};

/** The file with the output of the program for these arguments. */
const fileOf = (args: string): string => args.replaceAll(/[^A-Za-z0-9]/g, '_');

/** A folder with the program under its usual names. It prints what the program printed in this process. */
function installed(folder: string): NodeJS.ProcessEnv {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const script = (name: string, line: string): void => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${line}\n`);
    chmodSync(join(bin, name), 0o755);
  };
  script('mcp-pruner', `cat "${folder}/$(printf %s "$*" | tr -c A-Za-z0-9 _)"`);
  script('npx', '[ "$1" = -y ] && shift\nexec "$@"');
  return { PATH: `${bin}:${process.env.PATH}`, HOME: folder };
}

/** Four wires on one proxy: the same conversation gets the same ids on each. */
async function start() {
  const upstream = await startUpstream((_request, res) =>
    json(res, 200, {
      usage: { prompt_tokens: 900, completion_tokens: 5, input_tokens: 900, output_tokens: 5 },
      usageMetadata: { promptTokenCount: 900, candidatesTokenCount: 5 },
    }),
  );
  const folder = tempFolder();
  const proxy = await startProxy(upstream, { env: { MCP_PRUNER_GEMINI_URL: `http://127.0.0.1:${upstream.port}` } });
  const env = installed(folder);
  const io = { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock: { nowMs: () => Date.now() } };
  return {
    proxy,
    /** Sends a conversation over a wire and returns the outputs that the provider received. */
    send: async (wire: string, turns: readonly Turn[]): Promise<string[]> => {
      const { path, body, outputs } = WIRES[wire] ?? { path: '', body: () => ({}), outputs: () => [] };
      const headers = { 'content-type': 'application/json' };
      await fetch(`${proxy.url}${path}`, { method: 'POST', headers, body: JSON.stringify(body(turns)) });
      return outputs(JSON.parse(upstream.requests.at(-1)?.body.toString() ?? '{}') as Body);
    },
    /** Runs the program once with arguments, so that a shell can run it. */
    install: async (args: string): Promise<void> => {
      const { out, err, code } = await program(args.split(' '), io);
      expect([code, err], args).toEqual([0, '']);
      writeFileSync(join(folder, fileOf(args)), out);
    },
    shell: async (command: string): Promise<string> =>
      (await run('/bin/sh', ['-c', command], { cwd: folder, env, maxBuffer: 1e8 })).stdout,
  };
}

const LOG = serverLog(900, 4);
const wires = Object.keys(WIRES);

it('lines recovered by a shell pass whole on every wire, in every command form, and are counted', async () => {
  const { send, install, shell, proxy } = await start();
  const first: Turn = ['npm start', LOG];
  const sent: string[] = [];
  for (const wire of wires) sent.push((await send(wire, [first]))[0] ?? '');
  const [marker = ''] = (sent[0] ?? '').split('\n').filter((line) => parseMarker(line));
  const { pruneId = '', endLine = 0, startLine = 0 } = parseMarker(marker) ?? {};
  expect(sent.map((text) => text.includes(`prune_id=${pruneId} lignes ${startLine}-${endLine}`))).toEqual(
    wires.map(() => true),
  );
  const printed = / lignes par: (.*)⟧/
    .exec(marker)?.[1]
    ?.replace('<prune_id>', pruneId)
    .replace('a-b', `${startLine}-${endLine}`);
  expect(printed).toMatch(/^mcp-pruner recover prn_/);
  const lines = `${printed}`;
  const path = (await shell('command -v mcp-pruner')).trim();
  const ranges = `${startLine}-${endLine}`;
  for (const args of [
    `recover ${pruneId} --lines ${ranges}`,
    `recover ${pruneId}`,
    `why ${pruneId} --lines`,
    `why ${pruneId}`,
  ])
    await install(args);
  await install('recall items GET --limit 50');
  const forms = [
    lines,
    `mcp-pruner recover ${pruneId} | head -120`,
    `cd . && ${lines} | cat -n`,
    `npx -y ${lines}`,
    `${path} recover ${pruneId} --lines ${ranges}`,
    `sh -c '${lines} | nl'`,
    `mcp-pruner why ${pruneId} --lines`,
    `mcp-pruner why ${pruneId}`,
    'mcp-pruner recall items GET --limit 50',
    `${lines} > kept.txt`,
    'cat kept.txt',
    'head -200 kept.txt; echo done',
  ];
  const RECOVERING = 8; // the rest names no id, prints nothing, or repeats lines of a file
  const turns: Turn[] = [first];
  for (const form of forms) turns.push([form, await shell(form)]);
  for (const wire of wires) {
    let outputs: string[] = [];
    for (let i = 2; i <= turns.length; i++) outputs = await send(wire, turns.slice(0, i));
    expect(outputs.slice(1), wire).toEqual(turns.slice(1).map(([, output]) => output));
    expect(outputs[0], wire).toBe(sent[0]);
  }
  await proxy.requestLines(turns.length * wires.length);
  await proxy.stop();
  const { ledger } = openStore(proxy.dbPath);
  const report = await readReport(ledger, { sinceDay: '2000-01-01' });
  const recovered = report.tools.reduce((sum, { regrets }) => sum + regrets.recovered, 0);
  expect(recovered).toBe(wires.length * RECOVERING);
  expect(report.totals.regretTokens).toBeGreaterThan(10_000);
});

it('recovered lines stay in a longer output, over three turns and after a restart', async () => {
  const { send, proxy } = await start();
  const lines = splitLines(LOG);
  const sent = new Map<string, { turns: Turn[]; outputs: string[] }>();
  for (const wire of wires) {
    const first: Turn = [`npm run start:${wire}`, LOG];
    const [cut = ''] = await send(wire, [first]);
    const { pruneId = '', startLine = 0 } = cut.split('\n').map(parseMarker).find(Boolean) ?? {};
    const command = `npm test; mcp-pruner recover ${pruneId} --lines ${startLine}-${startLine + 39}`;
    const given = Array.from({ length: 40 }, (_, i) => `${lineAt(lines, startLine + i)}\n`).join('');
    const turns: Turn[] = [first, [command, `${serverLog(500, 21)}${given}${serverLog(100, 31)}`]];
    const outputs = await send(wire, turns);
    expect(outputs[1], wire).toContain(given);
    expect(outputs[1]?.length, wire).toBeLessThan((turns[1]?.[1].length ?? 0) / 2);
    sent.set(wire, { turns, outputs });
  }
  await proxy.restart();
  for (const [wire, { turns, outputs }] of sent) {
    const third = await send(wire, [...turns, ['npm run other', serverLog(500, 41)]]);
    expect(third.slice(0, 2), wire).toEqual(outputs);
    expect(third[2], wire).toContain('⟦PRUNÉ');
  }
});

it('a text that repeats lines of a file is cut as usual if no command recovered those lines', async () => {
  const { send } = await start();
  const lines = splitLines(LOG);
  const part = Array.from({ length: 300 }, (_, i) => lineAt(lines, i + 1)).join('\n');
  const outputs = await send('chat', [
    ['npm start', LOG],
    ['echo mcp-pruner; tail -300 app.log', `${part}\n`],
  ]);
  expect(outputs[1]).toContain('⟦PRUNÉ');
});
