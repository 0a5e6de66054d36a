import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { listen, readAll } from './lib/http.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { textOf } from './lib/wire.mjs';
import { wireOf } from './lib/wires.mjs';

/**
 * Claude Code with MCP_PRUNER_TOOL_SHELF=on: its tools go whole in the first session and shortened in the second, in which the
 * model calls a shortened one all the same. In the third session that tool is whole again.
 *
 * node test/clients/shelf.mjs      Claude Code is installed on demand into MCP_PRUNER_CLIENTS_DIR; the proxy is the built one
 */
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
/** A tool of Claude Code with a long description; the model calls it in the second session. */
const CALLED = 'Bash';
const MARK = '⟦PRUNÉ';

/** The model calls the tool once in a conversation that asks for it. */
function turnOf({ tools, messages }, nonce) {
  const asked = messages.filter((message) => message.role === 'user').map(textOf);
  const last = messages.at(-1);
  if (tools.length === 0) return { text: 'Fish', calls: [] };
  if (last?.role === 'tool') return { text: `Result ${nonce}: ${/fish-\d+/.exec(textOf(last))?.[0]}`, calls: [] };
  if (!asked.some((text) => text.includes('Call the tool'))) return { text: 'Done.', calls: [] };
  return {
    text: 'I call it.',
    calls: [{ id: `call_${nonce}`, name: CALLED, args: { command: 'echo fish-$((40+2))' } }],
  };
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
    if (parsed.tools?.length > 0) seen.push(parsed);
    if (parsed.stream !== true) return json(200, wire.plain(turn));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of wire.events(turn, parsed)) res.write(event);
    res.end();
  });
  return { url: server.url, seen, close: server.close };
}

/** What one session must have to see for the proxy to call a tool unused: five conversations on two days. */
function age(path) {
  const db = new Database(path);
  db.exec('UPDATE tool_declaration SET conversations = 5, days = 2');
  db.close();
}

const root = mkdtempSync(join(tmpdir(), 'client-shelf-'));
const [home, work, state] = ['home', 'work', 'proxy'].map((name) => join(root, name));
for (const folder of [join(home, 'tmp'), join(home, '.claude'), work, state]) mkdirSync(folder, { recursive: true });
writeProject(work, 'inside');
writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
const nonce = randomBytes(4).toString('hex');
const { folder } = await install(cache, 'claude');
const model = await startModel(nonce);
const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');

/** Runs a session through a proxy of its own on the common store. */
async function session(words) {
  const from = model.seen.length;
  const proxy = await startProxy({ upstream: model.url, folder: state, settings: { MCP_PRUNER_TOOL_SHELF: 'on' } });
  try {
    const env = {
      ...environment(home),
      ANTHROPIC_BASE_URL: proxy.origin,
      ANTHROPIC_API_KEY: API_KEY,
      ENABLE_TOOL_SEARCH: 'false',
      DISABLE_AUTOUPDATER: '1',
      DISABLE_TELEMETRY: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    };
    const args = ['-p', words, '--output-format', 'json', '--allowedTools', 'Bash'];
    const { stdout, stderr } = await runProcess(cli, args, { cwd: work, env, timeoutMs: 240_000 });
    return { answer: JSON.parse(stdout || '{}').result ?? stderr, sent: model.seen.slice(from) };
  } finally {
    await proxy.close();
  }
}

const descriptionOf = ({ tools }, name) => tools.find((tool) => tool.name === name)?.description ?? '';
const isShort = (request, name) => descriptionOf(request, name).includes(MARK);
const tokens = ({ tools }) => Math.round(JSON.stringify(tools).length / 4);

const problems = [];
try {
  const first = await session('Say that you are done.');
  age(join(state, 'pruner.db'));
  const second = await session('Call the tool.');
  const third = await session('Say once more that you are done.');
  if (first.sent.length === 0 || first.sent.some((one) => JSON.stringify(one.tools).includes(MARK)))
    problems.push('the first session did not go whole');
  if (second.answer !== `Result ${nonce}: fish-42`) problems.push(`the answer is ${JSON.stringify(second.answer)}`);
  if (second.sent.length < 2 || !second.sent.every((one) => isShort(one, CALLED)))
    problems.push('the second session was not shortened in all its requests');
  if (new Set(second.sent.map(({ tools }) => JSON.stringify(tools))).size !== 1)
    problems.push('the tools of the second session changed');
  const others = (third.sent[0]?.tools ?? []).filter(({ description = '' }) => description.includes(MARK));
  if (third.sent.length === 0 || isShort(third.sent[0], CALLED)) problems.push('the called tool is not whole again');
  if (others.length === 0) problems.push('no other tool is shortened in the third session');
  const [whole, short] = [first.sent[0], second.sent[0]].map((one) => (one ? tokens(one) : 0));
  process.stdout.write(`claude: tools of a request ${whole} tokens whole, ${short} shortened\n`);
} finally {
  await model.close();
  rmSync(root, { recursive: true, force: true });
}
for (const problem of problems) process.stdout.write(`claude: ${problem}\n`);
process.stdout.write(
  problems.length === 0 ? 'claude: called a shortened tool, and had it whole in the next session\n' : '',
);
process.exitCode = problems.length === 0 ? 0 : 1;
