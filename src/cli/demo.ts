import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadSettings } from '../config/load.ts';
import { parseMarker } from '../engine/text/marker.ts';
import { estimateTokens } from '../engine/text/tokens.ts';
import { createLog } from '../observe/log.ts';
import type { Command, Io } from './command.ts';
import { makeServiceLog, realSourceFile, serveLocally } from './demo-material.ts';
import { type Paint, painter } from './terminal.ts';

export const demo: Command = {
  usage: 'demo',
  about: 'Shows the whole thing offline, without a key: an embedded upstream, a real log, a real source file.',
  options: {},
  arguments: { least: 0, most: 0 },
  async run(_call, io) {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-demo-'));
    try {
      await show(folder, io, painter(io));
      return 0;
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

interface Message {
  readonly role: string;
  readonly content: string | null;
}

async function show(folder: string, io: Io, paint: Paint): Promise<void> {
  const say = (text = ''): void => io.out(`${text}\n`);
  const log = await makeServiceLog(io.clock);
  const source = realSourceFile();
  const received: string[] = [];
  const upstream = await serveLocally((req, res) => {
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      received.push(body);
      const usage = {
        prompt_tokens: estimateTokens(body),
        completion_tokens: 2,
        total_tokens: estimateTokens(body) + 2,
      };
      const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'Noted.' } }];
      res.setHeader('content-type', 'application/json');
      res.end(JSON.stringify({ id: 'demo', object: 'chat.completion', created: 0, model: 'demo', choices, usage }));
    });
  });
  const logFile = join(folder, 'proxy.log');
  const fd = openSync(logFile, 'a');
  const proxyLog = createLog({ level: 'info', fd });
  const { startHttp } = await import('../app/http.ts');
  const { settings } = loadSettings({
    ...io,
    env: {
      MCP_PRUNER_PORT: '0',
      MCP_PRUNER_UPSTREAM_URL: `${upstream.url}/v1`,
      MCP_PRUNER_DB_PATH: join(folder, 'demo.db'),
    },
  });
  const proxy = await startHttp(settings, { log: proxyLog, version: io.version });
  try {
    say(`upstream ${upstream.url} (embedded), proxy ${proxy.url}, store ${settings.dbPath}`);
    const messages = conversation(log, source);
    // as an agent does: each result goes to the model before the next call is made
    await ask(proxy.url, messages.slice(0, 4));
    await ask(proxy.url, messages);
    const forwarded = messagesOf(received[1] ?? '');

    say(paint('bold', '\n1. Before and after'));
    say('tool result                              original lines     tokens (estimated, markers in)');
    for (const [name, before, at] of [
      ['service log (700 requests, 1 failure)', log, 3],
      [source.path, source.text, 5],
    ] as const) {
      const after = forwarded[at]?.content ?? '';
      const [tokensBefore, tokensAfter] = [estimateTokens(before), estimateTokens(after)];
      const saved = `-${Math.round(100 * (1 - tokensAfter / tokensBefore))} %`;
      say(
        `${name.padEnd(38)} ${arrow(lineCount(before), keptLines(after))}  ${arrow(tokensBefore, tokensAfter)}  ${saved}`,
      );
    }

    say(paint('bold', '\n2. What the model sees of the log (first 24 lines)'));
    const pruned = (forwarded[3]?.content ?? '').split('\n');
    for (const line of pruned.slice(0, 24)) say(parseMarker(line) ? paint('red', line) : line);

    say(paint('bold', '\n3. Any line can be had back: recover_text over /rpc'));
    const marker = pruned.map(parseMarker).find((found) => found !== null);
    if (!marker) throw new Error('nothing was cut: the demonstration has nothing to recover');
    const lines = await recover(proxy.url, marker.pruneId, marker.startLine, marker.endLine);
    const original = log
      .split('\n')
      .slice(marker.startLine - 1, marker.endLine)
      .join('\n');
    say(
      `${marker.pruneId}, lines ${marker.startLine}-${marker.endLine}: ${lines === original ? 'exactly the original' : 'DIFFERENT'}`,
    );
    for (const line of lines.split('\n').slice(0, 3)) say(`  ${line}`);
    if (lines !== original) throw new Error('what was recovered differs from the original');

    say(paint('bold', "\n4. The next turn begins with the same bytes, so the provider's prompt cache holds"));
    const next = [...messages, { role: 'assistant', content: 'Noted.' }, { role: 'user', content: 'And a function?' }];
    await ask(proxy.url, next);
    const last = (received[1] ?? '').slice(0, -2);
    const kept = received.every((body, i) => i === 0 || body.startsWith((received[i - 1] ?? '').slice(0, -2)));
    say(`turn 3 begins with the ${Buffer.byteLength(last)} bytes forwarded in turn 2: ${kept ? 'yes' : 'NO'}`);
    if (!kept) throw new Error('the prefix changed between the turns');
  } finally {
    await proxy.close();
    await upstream.close();
    await new Promise<void>((resolve) => proxyLog.flush(() => resolve()));
    closeSync(fd);
  }
  say(paint('bold', '\n5. The log line of the request that brought the log'));
  say(
    readFileSync(logFile, 'utf8')
      .split('\n')
      .find((line) => line.includes('model request')) ?? '',
  );
}

function conversation(log: string, source: { readonly path: string; readonly text: string }): object[] {
  const call = (id: string, name: string, args: object): object => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(args) } }],
  });
  return [
    { role: 'system', content: 'You are a coding agent.' },
    {
      role: 'user',
      content:
        'Invoices fail now and then with a 500. Find the failing order, and which method of the driver registers a custom aggregate.',
    },
    call('call_1', 'bash', { command: 'npm run start:orders 2>&1' }),
    { role: 'tool', tool_call_id: 'call_1', content: log },
    call('call_2', 'read_file', { path: source.path }),
    { role: 'tool', tool_call_id: 'call_2', content: source.text },
  ];
}

async function ask(url: string, messages: readonly object[]): Promise<void> {
  const body = JSON.stringify({ model: 'demo', messages });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer demo' };
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  if (!response.ok) throw new Error(`the proxy answered ${response.status}`);
}

async function recover(url: string, pruneId: string, startLine: number, endLine: number): Promise<string> {
  const params = {
    name: 'recover_text',
    arguments: {
      prune_id: pruneId,
      ranges: [{ start_line: startLine, end_line: endLine }],
      include_line_numbers: false,
    },
  };
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  });
  const answer = (await response.json()) as { result: { content: [{ text: string }] } };
  const { raw_text } = JSON.parse(answer.result.content[0].text) as { raw_text: string };
  return raw_text;
}

function messagesOf(body: string): Message[] {
  return (JSON.parse(body) as { messages: Message[] }).messages;
}

function lineCount(text: string): number {
  return text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
}

/** Lines of a pruned text that stood in the original: all but the markers. */
function keptLines(text: string): number {
  return lineCount(text) - text.split('\n').filter((line) => parseMarker(line) !== null).length;
}

function arrow(before: number, after: number): string {
  return `${String(before).padStart(6)} -> ${String(after).padEnd(6)}`;
}
