import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellCall } from './lib/calls.mjs';
import { eventsIn } from './lib/events.mjs';
import { listen, readAll } from './lib/http.mjs';
import { install } from './lib/install.mjs';
import { MCP_PRUNER } from './lib/out-of-the-box.mjs';
import { runProcess } from './lib/process.mjs';
import { FACTS, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { textOf } from './lib/wire.mjs';
import { wireOf } from './lib/wires.mjs';

/**
 * Claude Code and Codex lose a fact to a compaction and get it back: they run a command, compact their session (the
 * scripted summary leaves the fact out), and are asked for it. The hook of `setup --hook` names what can be searched; the
 * scripted model calls `recall` only because of that, and answers from what it returned. Claude Code has what
 * `setup claude --write` wrote, tool search included, and must declare both tools in its first request all the same.
 *
 * node test/clients/compaction.mjs [claude] [codex]   clients are installed on demand into MCP_PRUNER_CLIENTS_DIR; the
 * proxy is the built one
 */
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const QUESTION = 'Which error code did the nightly run end with?';
const FACT = /checksum mismatch, code (LX-\d+)/;
/** The line of the hook. */
const HINT =
  /\d+ tool results? of this session can still be searched, newest reads: [^"]*nightly\.mjs[^"]*recall finds them/;
const shells = ['Bash', 'shell_command', 'shell', 'exec_command'];
/** Tokens in the last bill before the question, beyond the length at which Codex is set to compact. */
const LONG = { input_tokens: 300_000, total_tokens: 300_050 };
const COMPACT_AT = 200_000;

const startClaude = ({ folder, work, env }) => {
  const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  // the address and the server are those that `setup claude --write` wrote
  const own = {
    ANTHROPIC_API_KEY: API_KEY,
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  };
  const more = ['--output-format', 'json', '--allowedTools', 'Bash,mcp__pruner'];
  const claude = async (...args) => {
    const options = { cwd: work, env: { ...env, ...own }, timeoutMs: 120_000 };
    const { stdout, stderr } = await runProcess(cli, [...args, ...more], options);
    return JSON.parse(stdout || '{}').result ?? stderr;
  };
  return async () => {
    await claude('-p', 'Do the nightly run.');
    await claude('--continue', '-p', '/compact');
    return claude('--continue', '-p', QUESTION);
  };
};

const startCodex = ({ folder, home, work, proxy, env }) => {
  const config = join(home, '.codex');
  const lines = [
    ...['model = "scripted"', 'model_provider = "scripted"', 'check_for_update_on_startup = false'],
    ...['tool_output_token_limit = 50000', `model_auto_compact_token_limit = ${COMPACT_AT}`],
    ...['[analytics]', 'enabled = false', '[model_providers.scripted]', 'name = "scripted"'],
    ...[`base_url = "${proxy.origin}/v1"`, 'env_key = "SCRIPTED_KEY"', 'wire_api = "responses"'],
    ...['[mcp_servers.pruner]', `url = "${proxy.origin}/rpc?tools=recover_text,recall"`, ''],
  ];
  writeFileSync(join(config, 'config.toml'), lines.join('\n'));
  const cli = join(folder, 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
  const flags = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
  const codex = async (...args) => {
    const options = { cwd: work, env: { ...env, CODEX_HOME: config, SCRIPTED_KEY: API_KEY }, timeoutMs: 120_000 };
    const { stdout, stderr } = await runProcess(
      cli,
      ['exec', ...flags, '--dangerously-bypass-hook-trust', ...args],
      options,
    );
    const messages = eventsIn(stdout).filter((event) => event.item?.type === 'agent_message');
    return messages.at(-1)?.item.text ?? stderr;
  };
  return async () => {
    await codex('Do the nightly run.');
    return codex('resume', '--last', QUESTION);
  };
};

const CLIENTS = {
  claude: {
    summary: 'Your task is to create a detailed summary of',
    folder: '.claude',
    setups: [['--write'], ['--hook', '--write']],
    files: { '.claude.json': '{ "hasCompletedOnboarding": true }' },
    start: startClaude,
  },
  codex: {
    summary: 'CONTEXT CHECKPOINT COMPACTION',
    folder: '.codex',
    setups: [['--hook', '--write']],
    files: {},
    start: startCodex,
  },
};

/** The tools of the product that the first request with tools did not declare: a model cannot call a hidden one. */
function hiddenTools(seen) {
  const [first] = seen
    .map(({ tools }) => tools.map((tool) => (tool.function ?? tool).name))
    .filter((all) => all.length);
  return ['recover_text', 'recall'].filter((name) => !first?.some((one) => one?.endsWith(name)));
}

/** The model: its turn follows from what the last user message says, and from what tools returned since. */
function turnOf({ tools, messages }, body, nonce, summary) {
  const asked = messages.filter((message) => message.role === 'user').map(textOf);
  const last = messages.at(-1);
  const returned = last?.role === 'tool' ? textOf(last) : '';
  if (asked.at(-1)?.includes(summary))
    return { text: `<summary>The user had a file read. ${nonce}</summary>`, calls: [] };
  if (tools.length === 0) return { text: 'Billing', calls: [] };
  const declared = tools.map((tool) => tool.function ?? tool);
  if (asked.some((text) => text.includes(QUESTION))) {
    const fact = FACT.exec(returned.replaceAll('\\n', '\n'))?.[1];
    if (fact !== undefined) return { text: `Result ${nonce}: code=${fact}`, calls: [] };
    const { name, namespace } = declared.find((one) => one.name?.endsWith('recall')) ?? {};
    const isTold = HINT.test(body.replaceAll('\\"', ''));
    if (name === undefined || !isTold || messages.filter((message) => message.role === 'tool').length > 3) {
      return { text: `Result ${nonce}: code=?`, calls: [] };
    }
    const args = { query: 'nightly checksum mismatch error code' };
    return { text: 'I look it up.', calls: [{ id: `call_${nonce}_recall`, name, namespace, args }] };
  }
  if (returned === '') return { text: 'I run it.', calls: [{ id: `call_${nonce}_run`, ...shellCall(shells)(tools) }] };
  return { text: 'Done.', calls: [], usage: LONG };
}

async function startModel(nonce, summary) {
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
    const request = wire.read(parsed);
    const made = turnOf(request, body, nonce, summary);
    const turn = { id: `${nonce}-${seen.length}`, model: String(parsed.model), ...made };
    seen.push({ body, turn, tools: request.tools });
    if (parsed.stream !== true) return json(200, wire.plain(turn));
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const event of wire.events(turn, parsed)) res.write(event);
    res.end();
  });
  return { url: server.url, seen, close: server.close };
}

/** What is wrong with a client; nothing if it recalled the lost fact. */
async function problemsOf(name) {
  const client = CLIENTS[name];
  const root = mkdtempSync(join(tmpdir(), 'client-compaction-'));
  const [home, work, state] = ['home', 'work', 'proxy'].map((one) => join(root, one));
  for (const folder of [join(home, 'tmp'), join(home, client.folder), work, state])
    mkdirSync(folder, { recursive: true });
  writeProject(work, 'inside');
  const nonce = randomBytes(4).toString('hex');
  const { folder } = await install(cache, name);
  const model = await startModel(nonce, client.summary);
  const proxy = await startProxy({ upstream: model.url, folder: state });
  const env = environment(home);
  const problems = [];
  try {
    const settings = { MCP_PRUNER_PORT: new URL(proxy.origin).port, MCP_PRUNER_DB_PATH: join(state, 'pruner.db') };
    for (const [file, text] of Object.entries(client.files)) writeFileSync(join(home, file), text);
    for (const flags of client.setups) {
      const set = await runProcess(process.execPath, [MCP_PRUNER, 'setup', name, ...flags], {
        ...{ cwd: work, env: { ...env, ...settings }, timeoutMs: 60_000 },
      });
      if (set.code !== 0) problems.push(`setup ${flags.join(' ')}: ${set.stderr}`);
    }
    const answer = await client.start({ folder, home, work, proxy, env })();
    if (answer !== `Result ${nonce}: code=${FACTS.code}`) problems.push(`the answer is ${JSON.stringify(answer)}`);
    if (!model.seen.some(({ body }) => body.includes(client.summary)))
      problems.push('no request for a summary was sent');
    const hidden = hiddenTools(model.seen);
    if (hidden.length > 0) problems.push(`the first request does not declare ${hidden.join(' and ')}`);
    const asking = model.seen.find(({ turn }) => turn.calls.some((call) => call.name.endsWith('recall')));
    if (asking === undefined) problems.push('the model never called recall');
    else if (FACT.test(asking.body)) problems.push('the compaction has not lost the fact');
    const metrics = await (await fetch(`${proxy.origin}/metrics`)).text();
    if (!metrics.includes('mcp_pruner_compactions_total{kind="seen"} 1'))
      problems.push('the compaction was not counted');
  } finally {
    await proxy.close();
    await model.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
  return problems;
}

const named = process.argv.slice(2);
for (const name of named.length > 0 ? named : Object.keys(CLIENTS)) {
  const problems = await problemsOf(name);
  for (const problem of problems) process.stdout.write(`${name}: ${problem}\n`);
  if (problems.length === 0) process.stdout.write(`${name}: lost a fact to a compaction and recalled it\n`);
  else process.exitCode = 1;
}
