import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { listen, readAll } from './lib/http.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { FACTS, LOG_COMMAND, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { textOf } from './lib/wire.mjs';
import { wireOf } from './lib/wires.mjs';

/**
 * Claude Code loses a fact to a compaction and gets it back: it runs a command, compacts its session (the scripted summary
 * leaves the fact out), and is asked for it. The scripted model calls `recall`, and answers from what that returned.
 *
 * node test/clients/compaction.mjs      Claude Code is installed on demand into MCP_PRUNER_CLIENTS_DIR; the proxy is the built one
 */
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const PROMPT = 'Your task is to create a detailed summary of';
const QUESTION = 'Which error code did the nightly run end with?';
const FACT = /checksum mismatch, code (LX-\d+)/;

/** The model: its turn follows from what the last user message says, and from what tools returned since. */
function turnOf({ tools, messages }, nonce) {
  const asked = messages.filter((message) => message.role === 'user').map(textOf);
  const last = messages.at(-1);
  const returned = last?.role === 'tool' ? textOf(last) : '';
  const names = tools.map((tool) => tool.name ?? tool.function?.name);
  if (asked.at(-1)?.includes(PROMPT))
    return { text: `<summary>The user had a file read. ${nonce}</summary>`, calls: [] };
  if (tools.length === 0) return { text: 'Billing', calls: [] };
  if (asked.some((text) => text.includes(QUESTION))) {
    const fact = FACT.exec(returned.replaceAll('\\n', '\n'))?.[1];
    if (fact !== undefined) return { text: `Result ${nonce}: code=${fact}`, calls: [] };
    const name = names.find((one) => one?.endsWith('recall'));
    if (name === undefined || messages.filter((message) => message.role === 'tool').length > 3) {
      return { text: `Result ${nonce}: code=?`, calls: [] };
    }
    return {
      text: 'I look it up.',
      calls: [{ id: `call_${nonce}_recall`, name, args: { query: 'nightly checksum mismatch error code' } }],
    };
  }
  if (returned === '') {
    return { text: 'I run it.', calls: [{ id: `call_${nonce}_run`, name: 'Bash', args: { command: LOG_COMMAND } }] };
  }
  return { text: 'Done.', calls: [] };
}

async function startModel(nonce) {
  const seen = [];
  const server = await listen(async (req, res) => {
    const body = (await readAll(req)).toString('utf8');
    const [path = ''] = (req.url ?? '').split('?');
    const json = (status, value) => {
      res.writeHead(status, { 'content-type': 'application/json' });
      res.end(JSON.stringify(value));
    };
    if (path.endsWith('/count_tokens')) return json(200, { input_tokens: 1000 });
    const wire = wireOf(path);
    if (wire === undefined || req.method !== 'POST')
      return json(404, { error: { message: 'not here', type: 'not_found' } });
    const parsed = JSON.parse(body);
    const turn = { id: `${nonce}-${seen.length}`, model: String(parsed.model), ...turnOf(wire.read(parsed), nonce) };
    seen.push({ body, turn });
    if (parsed.stream !== true) return json(200, wire.plain(turn));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of wire.events(turn, parsed)) res.write(event);
    res.end();
  });
  return { url: server.url, seen, close: server.close };
}

const root = mkdtempSync(join(tmpdir(), 'client-compaction-'));
const [home, work, state] = ['home', 'work', 'proxy'].map((name) => join(root, name));
for (const folder of [join(home, 'tmp'), join(home, '.claude'), work, state]) mkdirSync(folder, { recursive: true });
writeProject(work, 'inside');
writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
const nonce = randomBytes(4).toString('hex');
const { folder } = await install(cache, 'claude');
const model = await startModel(nonce);
const proxy = await startProxy({ upstream: model.url, folder: state });
const servers = { pruner: { type: 'http', url: `${proxy.origin}/rpc?tools=recover_text,recall` } };
const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
const env = {
  ...environment(home),
  ANTHROPIC_BASE_URL: proxy.origin,
  ANTHROPIC_API_KEY: API_KEY,
  ENABLE_TOOL_SEARCH: 'false',
  DISABLE_AUTOUPDATER: '1',
  DISABLE_TELEMETRY: '1',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
};
const claude = (...args) =>
  runProcess(
    cli,
    [
      ...args,
      '--output-format',
      'json',
      '--allowedTools',
      'Bash,mcp__pruner',
      `--mcp-config=${JSON.stringify({ mcpServers: servers })}`,
    ],
    { cwd: work, env, timeoutMs: 120_000 },
  );

const problems = [];
try {
  await claude('-p', 'Do the nightly run.');
  await claude('--continue', '-p', '/compact');
  const { stdout, stderr } = await claude('--continue', '-p', QUESTION);
  const answer = JSON.parse(stdout || '{}').result ?? stderr;
  if (answer !== `Result ${nonce}: code=${FACTS.code}`) problems.push(`the answer is ${JSON.stringify(answer)}`);
  if (!model.seen.some(({ body }) => body.includes(PROMPT))) problems.push('the client sent no request for a summary');
  const asking = model.seen.find(({ turn }) => turn.calls.some(({ name }) => name.endsWith('recall')));
  if (asking === undefined) problems.push('the model never called recall');
  else if (FACT.test(asking.body)) problems.push('the compaction has not lost the fact');
  const metrics = await (await fetch(`${proxy.origin}/metrics`)).text();
  if (!metrics.includes('mcp_pruner_compactions_total{kind="seen"} 1')) problems.push('the compaction was not counted');
} finally {
  await proxy.close();
  await model.close();
  rmSync(root, { recursive: true, force: true });
}
for (const problem of problems) process.stdout.write(`claude: ${problem}\n`);
process.stdout.write(problems.length === 0 ? 'claude: lost a fact to a compaction and recalled it\n' : '');
process.exitCode = problems.length === 0 ? 0 : 1;
