import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from '../../bench/load.mjs';
import { shellCall } from './lib/calls.mjs';
import { startHop } from './lib/hop.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { textOf } from './lib/wire.mjs';
import { wireNamed } from './lib/wires.mjs';

/**
 * Real clients in a long session behind the checking upstreams (docs/conformance.md), with MCP_PRUNER_SEAMS=on: the
 * provider summarises finished work after the second task. Then the proxy is killed, restarted, switched off and on, and
 * the client forks and compacts.
 *
 * node test/clients/seams.mjs [--direct] [claude] [codex] [codex-socket] [pi-messages] [pi-responses] [opencode-messages] [opencode-responses]
 *
 * With --direct, the client sends to the upstream itself: what breaks then is of its own making.
 */
const isDirect = process.argv.includes('--direct');
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const bench = (name) => fileURLToPath(new URL(`../../bench/conformance/${name}.ts`, import.meta.url));
const shells = ['Bash', 'bash', 'shell_command', 'shell', 'exec_command'];
const MODELS = { messages: process.env.SEAM_MODEL ?? 'claude-opus-5', responses: 'gpt-6.2-sol' };
/** Tokens that the providers report. */
const FIRST = 10_000;
const EACH = 40_000;
const ENDED = 5;
const ENDED_TURNS = 16;
const ENDED_TOKENS = 3_000_000;
const TIMEOUT_MS = 150_000;

const claude = ({ folder, home, work, url, env }) => {
  mkdirSync(join(home, '.claude'), { recursive: true });
  writeFileSync(join(home, '.claude.json'), '{ "hasCompletedOnboarding": true }');
  const cli = join(folder, 'node_modules/@anthropic-ai/claude-code-linux-x64/claude');
  const own = {
    ...{ ANTHROPIC_API_KEY: API_KEY, ANTHROPIC_BASE_URL: url, ANTHROPIC_MODEL: MODELS.messages },
    ...{ DISABLE_AUTOUPDATER: '1', DISABLE_TELEMETRY: '1', CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1' },
    // with tool search it sends a message of the system, and gets no summary
    ENABLE_TOOL_SEARCH: 'false',
  };
  const ask = (...args) =>
    runProcess(cli, [...args, '--output-format', 'json', '--allowedTools', 'Bash'], {
      ...{ cwd: work, env: { ...env, ...own }, timeoutMs: TIMEOUT_MS },
    });
  return {
    begin: (words) => ask('-p', words),
    next: (words) => ask('--continue', '-p', words),
    fork: (words) => ask('--continue', '--fork-session', '-p', words),
    compact: () => ask('--continue', '-p', '/compact'),
  };
};

const codex = (isSocket) =>
  function start({ folder, home, work, url, env }) {
    const config = join(home, '.codex');
    mkdirSync(config, { recursive: true });
    const lines = [
      ...[`model = "${MODELS.responses}"`, 'model_provider = "scripted"', 'check_for_update_on_startup = false'],
      ...[
        'model_reasoning_effort = "medium"',
        'model_auto_compact_token_limit = 2000000',
        '[analytics]',
        'enabled = false',
      ],
      ...['[model_providers.scripted]', 'name = "scripted"', `base_url = "${url}/v1"`, 'env_key = "SCRIPTED_KEY"'],
      ...['wire_api = "responses"', `supports_websockets = ${isSocket}`, ''],
    ];
    writeFileSync(join(config, 'config.toml'), lines.join('\n'));
    const cli = join(folder, 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
    const flags = ['--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
    const ask = (...args) =>
      runProcess(cli, ['exec', ...flags, ...args], {
        ...{ cwd: work, env: { ...env, CODEX_HOME: config, SCRIPTED_KEY: API_KEY }, timeoutMs: TIMEOUT_MS },
      });
    return { begin: ask, next: (words) => ask('resume', '--last', words) };
  };

const pi = (api) =>
  function start({ folder, node, home, work, url, env }) {
    const config = join(home, '.pi/agent');
    mkdirSync(config, { recursive: true });
    const isMessages = api === 'anthropic-messages';
    const id = isMessages ? MODELS.messages : MODELS.responses;
    const model = { id, contextWindow: 2_000_000, maxTokens: 8000, reasoning: true };
    const scripted = { baseUrl: isMessages ? url : `${url}/v1`, api, apiKey: API_KEY, models: [model] };
    writeFileSync(join(config, 'models.json'), JSON.stringify({ providers: { scripted } }));
    const cli = join(folder, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js');
    const args = [cli, '--print', '--offline', '--provider', 'scripted', '--model', id, '--thinking', 'medium'];
    const ask = (...more) =>
      runProcess(node, [...args, ...more], {
        ...{ cwd: work, env: { ...env, PI_CODING_AGENT_DIR: config, PI_TELEMETRY: '0' }, timeoutMs: TIMEOUT_MS },
      });
    return { begin: ask, next: (words) => ask('--continue', words) };
  };

const opencode = (wire) =>
  function start({ folder, home, work, url, env }) {
    const config = join(home, '.config/opencode');
    mkdirSync(config, { recursive: true });
    const reasoning = {
      responses: {
        reasoningEffort: 'medium',
        forceReasoning: true,
        store: false,
        include: ['reasoning.encrypted_content'],
      },
      messages: { thinking: { type: 'enabled', budgetTokens: 4000 } },
    };
    const id = MODELS[wire];
    const limit = { context: 2_000_000, output: 8000 };
    const models = { [id]: { name: id, tool_call: true, reasoning: true, limit, options: reasoning[wire] } };
    const npm = wire === 'messages' ? '@ai-sdk/anthropic' : '@ai-sdk/openai';
    const scripted = { npm, name: 'scripted', options: { baseURL: `${url}/v1`, apiKey: API_KEY }, models };
    const settings = { autoupdate: false, share: 'disabled', provider: { scripted }, model: `scripted/${id}` };
    writeFileSync(join(config, 'opencode.json'), JSON.stringify(settings));
    const switches = Object.fromEntries(
      ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS'].map((name) => [
        `OPENCODE_DISABLE_${name}`,
        '1',
      ]),
    );
    const cli = join(folder, 'node_modules/opencode-linux-x64/bin/opencode');
    const ask = (...args) =>
      runProcess(cli, ['run', '--format', 'json', '--model', `scripted/${id}`, ...args], {
        ...{ cwd: work, env: { ...env, ...switches }, timeoutMs: TIMEOUT_MS },
      });
    return {
      begin: ask,
      next: (words) => ask('--continue', words),
      fork: (words) => ask('--continue', '--fork', words),
    };
  };

const CLIENTS = {
  claude: { packages: 'claude', wire: 'messages', start: claude },
  codex: { packages: 'codex', wire: 'responses', start: codex(false) },
  'codex-socket': { packages: 'codex', wire: 'responses', start: codex(true) },
  'pi-messages': { packages: 'pi', wire: 'messages', start: pi('anthropic-messages') },
  'pi-responses': { packages: 'pi', wire: 'responses', start: pi('openai-responses') },
  'opencode-messages': { packages: 'opencode', wire: 'messages', start: opencode('messages') },
  'opencode-responses': { packages: 'opencode', wire: 'responses', start: opencode('responses') },
};

/** The model: a command for each task, then words. */
function play(wire, body) {
  if (process.env.DUMP) writeFileSync(process.env.DUMP, JSON.stringify(body, null, 1));
  const { tools, messages } = wireNamed(wire).read(body);
  // Claude Code puts messages of the system behind the user's
  const last = messages.findLast(({ role }) => role !== 'system');
  if (tools.length === 0 || last?.role === 'tool' || last?.role === 'assistant') return { says: 'Done.', calls: [] };
  if (/summary of the (?:conversation|session)/i.test(textOf(last)))
    return { says: '<summary>It was done.</summary>', calls: [] };
  if (!/^\s*(?:")?Task \d/m.test(textOf(last))) return { says: 'Noted.', calls: [] };
  try {
    return { says: 'I run it.', calls: [shellCall(shells)(tools)] };
  } catch {
    return { says: 'I cannot run it.', calls: [] }; // Codex runs commands in scripts for some models
  }
}

/** Conversations of the project that went on for a while and ended. */
async function endSome(origin, wire, model) {
  const headers = { 'content-type': 'application/json', 'x-api-key': API_KEY, authorization: `Bearer ${API_KEY}` };
  for (let i = 0; i < ENDED; i++) {
    const history = [];
    for (let turn = 0; turn < ENDED_TURNS; turn++) {
      history.push({ role: 'user', content: `Ended ${i}, part ${turn}: go on.` });
      const own = wire === 'messages' ? { max_tokens: 1000, messages: history } : { store: false, input: history };
      const path = wire === 'messages' ? 'messages' : 'responses';
      const init = { method: 'POST', headers, body: JSON.stringify({ model, ...own }) };
      await (await fetch(`${origin}/v1/${path}`, init)).text();
      history.push({ role: 'assistant', content: 'Done.' });
    }
  }
}

async function run(name) {
  const { packages, wire, start } = CLIENTS[name];
  const installed = await install(cache, packages);
  const { CheckingUpstream } = await load(bench('upstream'));
  const { CLOCK_PRELOAD } = await load(bench('clock'));
  const root = mkdtempSync(join(tmpdir(), `seams-${name}-`));
  const [home, work, state] = ['home', 'work', 'proxy'].map((folder) => join(root, folder));
  for (const folder of [join(home, 'tmp'), work, state]) mkdirSync(folder, { recursive: true });
  writeProject(work, 'inside');
  const clock = join(root, 'clock');
  writeFileSync(clock, '0');
  writeFileSync(join(root, 'clock.cjs'), CLOCK_PRELOAD);
  const said = [];
  let isEnding = true;
  const safely = (...of) => {
    try {
      return play(...of);
    } catch (cause) {
      said.push(String(cause.stack).slice(0, 400));
      return { says: 'Done.', calls: [] };
    }
  };
  const upstream = new CheckingUpstream(safely, (count) => (isEnding ? ENDED_TOKENS : FIRST + EACH * count));
  await upstream.start();
  const settings = {
    ...{ MCP_PRUNER_SEAMS: process.env.SEAMS ?? 'on', MCP_PRUNER_SEAM_TOKENS: 'auto', MCP_PRUNER_LOG_LEVEL: 'debug' },
    MCP_PRUNER_SEAMS_HOSTS: new URL(upstream.origin).host,
    NODE_OPTIONS: `--require ${join(root, 'clock.cjs')}`,
    CONFORMANCE_CLOCK: clock,
  };
  const proxy = await startProxy({ upstream: upstream.origin, folder: state, settings });
  const hop = await startHop(async () => ({ origin: isDirect ? upstream.origin : proxy.origin }));
  try {
    await endSome(proxy.origin, wire, MODELS[wire]);
    isEnding = false;
    const strangersBefore = new Set(upstream.strangers.values());
    writeFileSync(clock, String(3 * 3_600_000));
    const client = start({ ...installed, home, work, url: hop.url, env: environment(home) });
    const metric = async () =>
      Number(
        /compactions_total\{result="made"\} (\d+)/.exec(await (await fetch(`${proxy.origin}/metrics`)).text())?.[1],
      );
    const step = async (what, action) => {
      const { code, stdout, stderr } = await action();
      said.push(`${what}: ${code}`);
      if (code !== 0) said.push(`${stdout.slice(-300)} ${stderr.slice(-300)}`);
    };
    let tasks = 0;
    const task = () => `Task ${++tasks}: please do the nightly run of the shop again.`;
    await step('begin', () => client.begin(task()));
    for (let i = 0; i < 5; i++) {
      await step('next', () => client.next(task()));
      if ((await metric()) > 0) break;
    }
    for (let i = 0; i < 100 && (await metric()) === 0; i++) await new Promise((go) => setTimeout(go, 50));
    const made = await metric();
    await step('with the block', () => client.next(task()));
    await proxy.restart({});
    await step('after kill -9', () => client.next(task()));
    await proxy.restart({ MCP_PRUNER_ENABLED: 'false' });
    await step('kill switch', () => client.next(task()));
    await proxy.restart({ MCP_PRUNER_SEAMS: 'off' });
    await step('seams off', () => client.next(task()));
    await proxy.restart({});
    if (client.fork) await step('fork', () => client.fork(task()));
    if (client.compact) await step('the client compacts', () => client.compact());
    await step('and goes on', () => client.next(task()));
    await step('and again', () => client.next(task()));
    const all = [...upstream.strangers.values()].filter((stranger) => !strangersBefore.has(stranger));
    const sum = (count) => all.reduce((total, one) => total + count(one), 0);
    const breaks = all.flatMap((one) => one.breaks);
    const reasons = new Map();
    for (const [, reason] of proxy.log().matchAll(/"reason":"([a-z_0-9]+)"/g))
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    const counts = {
      requests: sum((one) => one.requests),
      swapped: sum((one) => one.swapped),
      reasoning: sum((one) => one.reasoning),
    };
    process.stdout.write(
      `${name} ${installed.version}: ${JSON.stringify({ made, ...counts, breaks: breaks.length })}\n  ${said.join(', ')}\n  ${JSON.stringify(Object.fromEntries(reasons))}\n`,
    );
    for (const one of breaks) process.stdout.write(`  ${JSON.stringify(one)}\n`);
    if (breaks.length > 0 || counts.swapped === 0 || said.some((line) => / [1-9]/.test(line))) process.exitCode = 1;
  } finally {
    await hop.close();
    await proxy.close();
    await upstream.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

const names = process.argv.slice(2).filter((word) => word !== '--direct');
for (const name of names.length > 0 ? names : Object.keys(CLIENTS)) await run(name);
