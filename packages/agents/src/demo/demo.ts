import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from 'mcp-pruner/base/causes.ts';
import { type Command, type Io, type Paint, painter } from 'mcp-pruner/cli/command.ts';
import { loadSettings } from 'mcp-pruner/config/load.ts';
import { type MarkerFields, parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import { estimateTokens } from 'mcp-pruner/engine/text/tokens.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import { createLog } from 'mcp-pruner/observe/log.ts';
import { driverProblem } from 'mcp-pruner/store/sqlite/driver.ts';
import { makeServiceLog, realSourceFile, type SourceFile, serveLocally } from './material.ts';

export const demo: Command = {
  usage: 'demo',
  about: 'Shows pruning offline, without a key, with an embedded upstream, a real log and a real source file.',
  options: {},
  arguments: { min: 0, max: 0 },
  async run(_call, io) {
    const problem = driverProblem();
    if (problem !== null) throw new UserError(problem);
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-demo-'));
    try {
      await show(folder, io, painter(io));
      return 0;
    } catch (cause) {
      if (cause instanceof UserError) throw cause;
      const reason = messageOf(cause);
      throw new UserError(`The demonstration failed: ${reason}.`, { cause });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

/** Generous, so that the demonstration also works on a busy machine. */
const TIMEOUT_MS = 600_000;

interface Message {
  readonly role: string;
  readonly content: string | null;
}

interface Stage {
  readonly say: (text?: string) => void;
  readonly heading: (text: string) => void;
  readonly paint: Paint;
}

async function show(folder: string, io: Io, paint: Paint): Promise<void> {
  const say = (text = ''): void => io.out(`${text}\n`);
  const stage: Stage = { say, heading: (text) => say(paint('bold', `\n${text}`)), paint };
  const received: string[] = [];
  const upstream = await serveModel(received);
  const logFile = join(folder, 'proxy.log');
  const fd = openSync(logFile, 'a');
  const proxyLog = createLog({ level: 'info', fd });
  const { startHttp } = await import('mcp-pruner/app/serve.ts');
  const { settings } = loadSettings({
    ...io,
    table: io.edition.settings,
    env: {
      MCP_PRUNER_PORT: '0',
      MCP_PRUNER_UPSTREAM_URL: `${upstream.url}/v1`,
      MCP_PRUNER_DB_PATH: join(folder, 'demo.db'),
      MCP_PRUNER_TIMEOUT_MS: String(TIMEOUT_MS),
    },
  });
  const proxy = await startHttp(settings, { edition: io.edition, log: proxyLog, version: io.version });
  let wasCut = false;
  try {
    say(`upstream ${upstream.url} (embedded), proxy ${proxy.url}, store ${settings.dbPath}`);
    wasCut = await showTurns(stage, proxy.url, await makeServiceLog(io.clock), received);
  } finally {
    await proxy.close();
    await upstream.close();
    await new Promise<void>((resolve) => proxyLog.flush(() => resolve()));
    closeSync(fd);
  }
  const lines = readFileSync(logFile, 'utf8').split('\n');
  const line = lines.find((text) => text.includes('model request')) ?? '{}';
  if (!wasCut) throw new UserError(`The demonstration ends here, because nothing was cut: ${reasonIn(line)}.`);
  stage.heading('5. The log line of the request with the service log');
  say(line);
}

function reasonIn(line: string): string {
  const { leftWhole = {}, fallbacks = [] } = JSON.parse(line) as {
    readonly leftWhole?: Readonly<Record<string, number>>;
    readonly fallbacks?: readonly string[];
  };
  const codes = [...new Set([...fallbacks, ...Object.keys(leftWhole)])];
  return `the service log passed whole (${codes.join(', ') || 'without a reason'})`;
}

/** A fake model that acknowledges everything, and collects request bodies in `received`. */
function serveModel(received: string[]): ReturnType<typeof serveLocally> {
  return serveLocally((req, res) => {
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
}

/** @returns whether the service log was cut; if not, the demonstration ends */
async function showTurns(stage: Stage, url: string, log: string, received: readonly string[]): Promise<boolean> {
  const [source, focused] = [realSourceFile('statement'), realSourceFile('database')];
  const messages = conversation(log, source, focused);
  // as agents do: each result is sent to the model before the next call
  for (const end of [4, 6, 8]) await ask(url, messages.slice(0, end));
  const forwarded = messagesOf(received.at(-1) ?? '');
  const pruned = forwarded[3]?.content ?? '';
  stage.heading('1. Before and after');
  stage.say('tool result                                    original lines     tokens (estimated, markers in)');
  showSaved(stage, 'service log (700 requests, 1 failure)', log, pruned);
  showSaved(stage, source.path, source.text, forwarded[5]?.content ?? '');
  showSaved(stage, `${focused.path}, with a question`, focused.text, forwarded[7]?.content ?? '');
  stage.say('An agent may edit a file that it has read, so the file passes whole unless cutting saves 8,000 tokens.');
  stage.say(`The second file was read with context_focus_question: "${QUESTION}"`);
  stage.heading('2. What the model sees of the log (first 24 lines)');
  for (const line of pruned.split('\n').slice(0, 24)) stage.say(parseMarker(line) ? stage.paint('red', line) : line);
  const marker = pruned
    .split('\n')
    .map(parseMarker)
    .find((found) => found !== null);
  if (!marker) return false;
  stage.heading('3. Every line can be recovered: recover_text over /rpc');
  await showRecovered(stage, url, log, marker);
  stage.heading("4. The next turn begins with the same bytes, so the provider's prompt cache holds");
  const answered = { role: 'assistant', content: 'Noted.' };
  await ask(url, [...messages, answered, { role: 'user', content: 'And a function?' }]);
  showPrefixKept(stage, received);
  return true;
}

function showSaved({ say }: Stage, name: string, before: string, after: string): void {
  const [tokensBefore, tokensAfter] = [estimateTokens(before), estimateTokens(after)];
  const percent = Math.round(100 * (1 - tokensAfter / tokensBefore));
  const saved = percent === 0 ? 'whole' : `-${percent} %`;
  say(
    `${name.padEnd(44)} ${arrow(lineCount(before), keptLines(after))}  ${arrow(tokensBefore, tokensAfter)}  ${saved}`,
  );
}

/** @throws UserError if recovered lines differ from the cut ones */
async function showRecovered({ say }: Stage, url: string, log: string, marker: MarkerFields): Promise<void> {
  const { pruneId, startLine, endLine } = marker;
  const lines = await recover(url, pruneId, startLine, endLine);
  const isOriginal =
    lines ===
    log
      .split('\n')
      .slice(startLine - 1, endLine)
      .join('\n');
  say(`${pruneId}, lines ${startLine}-${endLine}: ${isOriginal ? 'exactly the original' : 'DIFFERENT'}`);
  for (const line of lines.split('\n').slice(0, 3)) say(`  ${line}`);
  if (!isOriginal) throw new UserError('The recovered lines differ from the original.');
}

/** @throws UserError if a turn did not begin with the bytes of the previous one */
function showPrefixKept({ say }: Stage, received: readonly string[]): void {
  const last = (received.at(-2) ?? '').slice(0, -2);
  const kept = received.every((body, i) => i === 0 || body.startsWith((received[i - 1] ?? '').slice(0, -2)));
  say(`turn 4 begins with the ${Buffer.byteLength(last)} bytes forwarded in turn 3: ${kept ? 'yes' : 'NO'}`);
  if (!kept) throw new UserError('The prefix changed between the turns.');
}

const QUESTION = 'How is a custom aggregate registered?';

function conversation(log: string, source: SourceFile, focused: SourceFile): object[] {
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
    call('call_3', 'read_file', { path: focused.path, context_focus_question: QUESTION }),
    { role: 'tool', tool_call_id: 'call_3', content: focused.text },
  ];
}

async function ask(url: string, messages: readonly object[]): Promise<void> {
  const body = JSON.stringify({ model: 'demo', messages });
  const headers = { 'content-type': 'application/json', authorization: 'Bearer demo' };
  const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body });
  await response.arrayBuffer();
  if (!response.ok) throw new UserError(`The proxy answered with status ${response.status}.`);
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

function keptLines(text: string): number {
  return lineCount(text) - text.split('\n').filter((line) => parseMarker(line) !== null).length;
}

function arrow(before: number, after: number): string {
  return `${String(before).padStart(6)} -> ${String(after).padEnd(6)}`;
}
