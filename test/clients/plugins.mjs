import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { manifests } from '../../build/release/manifests.mjs';
import { shellCall } from './lib/calls.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { FACTS, TASK, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { checkResults, resultsSeen } from './lib/recovered.mjs';
import { environment } from './lib/session.mjs';
import { finalAnswer, startUpstream } from './lib/upstream.mjs';
import { conversationOf } from './lib/wires.mjs';
import { command } from './mcp/setups.mjs';
import { agents } from './plugins/agents.mjs';

const HELP = `Plugins and extensions, from a local folder, with the real agents: each is validated, installed, used for a task
in which a cut is taken back over its MCP server, and removed. After that the agent must know nothing of it.

node test/clients/plugins.mjs [name…]   names of agents, or the beginning of names; all without one
  --timeout SECONDS       of one command (default 120)
  --keep                  keep each agent's throw-away folder
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    timeout: { type: 'string', default: '120' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const say = (text) => process.stdout.write(`${text}\n`);
const MOST_WAITS = 20;
const SHELLS = ['exec_command', 'Bash', 'bash', 'run_shell_command'];

/** The plugins as they are in the package: the manifests, and what stands beside them. */
function stage(folder) {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const names = new Set(Object.keys(manifests(manifest)).map((path) => path.split('/')[0]));
  for (const name of names) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
}

/**
 * Settings of the agent below its home that name the product. Sessions, caches and logs are the agent's own, and so is
 * what Claude Code and Gemini CLI remember of plugins that were uninstalled.
 */
function traces(home) {
  const isOwn =
    /^\.claude\.json$|extension_integrity|(?:^|\/)(?:\.?cache|telemetry|sessions?|projects|logs?|tmp|history|backups|session-state)(?:\/|$)|mcp-pruner\//;
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => /\.(?:jsonc?|toml)$/.test(path) && !isOwn.test(path.slice(home.length + 1)))
    .filter((path) => /mcp-pruner@|"mcp-pruner"|\[.*pruner/.test(readFileSync(path, 'utf8')))
    .map((path) => `${path.slice(home.length + 1)} still names the plugin`);
}

/**
 * The script of the model, which waits by a tool call of a second until the tools of the plugin are on offer: agents start its
 * server beside the first requests, which takes a moment. A real model is as slow.
 */
function patient({ steps, calls }) {
  const script = [...steps];
  const recover = (tools, context) => {
    const isOffered = tools.some((tool) => /recover_text$/.test(tool.function?.name ?? ''));
    const waits = script.length - steps.length;
    if (isOffered || waits === MOST_WAITS) return calls.recover(tools, context);
    script.splice(script.indexOf('recover'), 0, 'wait');
    return { id: `call_wait_${waits}`, ...shellCall(SHELLS, 'sleep 1')(tools) };
  };
  const wait = (tools) => shellCall(SHELLS, 'sleep 1')(tools); // for an agent that sends a request again
  return { steps: script, calls: { ...calls, recover, wait } };
}

/** The names of all tools on offer in requests. */
function toolsSeen(seen) {
  return seen
    .filter(({ step }) => step !== '' && step !== 'title')
    .flatMap(({ path, body }) => conversationOf(path, body).tools)
    .map((tool) => tool.function?.name ?? '');
}

/** Whether something was fetched: npm logs each start of npx. */
function hasFetched(home) {
  return existsSync(join(home, '.npm/_logs'));
}

async function session(agent) {
  const nonce = randomBytes(5).toString('hex');
  const { folder, version, node } = await install(cache, agent.packages);
  const root = mkdtempSync(join(tmpdir(), `plugin-${agent.name}-`));
  const [home, work, bin, state, plugin] = ['home', 'work', 'bin', 'proxy', 'plugin'].map((name) => join(root, name));
  for (const each of [join(home, 'tmp'), work, bin, state, plugin]) mkdirSync(each, { recursive: true });
  writeProject(work, 'inside');
  stage(plugin);
  const [name, target] = agent.program(folder);
  command(bin, name, target, node);
  command(bin, 'mcp-pruner', join(ROOT, 'dist/cli.js'), node); // the installed program

  const closers = [];
  const failures = [];
  let tail = '';
  try {
    const script = patient(agent);
    const model = await startUpstream({ nonce, ...script, work });
    closers.push(model.close);
    // the store of the home: agents hand few variables of their environment on to an MCP server
    const store = join(home, '.local/share/mcp-pruner/store.db');
    const proxy = await startProxy({
      upstream: model.url,
      folder: state,
      settings: { HOME: home, MCP_PRUNER_DB_PATH: store },
    });
    closers.push(proxy.close);
    const files = {
      '.config/mcp-pruner/config.toml': `[mcp_pruner]\nport = ${new URL(proxy.origin).port}\n`,
      ...agent.settings,
    };
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), text);
    }
    const env = {
      ...environment(home),
      PATH: `${bin}:${process.env.PATH ?? ''}`,
      npm_config_offline: 'true',
      ...agent.env(proxy.origin),
    };
    const timeoutMs = Number(values.timeout) * 1000;
    const start = async (args) => {
      const result = await runProcess(name, args, { cwd: work, env, timeoutMs });
      tail = `${args.join(' ').slice(0, 200)}\n${result.stdout.slice(-1500)}\n${result.stderr.slice(-1500)}`;
      return result;
    };
    const expectSuccess = async (args) => {
      const { code, stdout, stderr } = await start(args);
      if (code !== 0) failures.push(`${name} ${args.join(' ')}: code ${code}: ${(stdout + stderr).slice(-600)}`);
    };

    for (const args of [...agent.validate(plugin), ...agent.install(plugin)]) await expectSuccess(args);
    const result = await start(agent.args(TASK, proxy.origin));
    if (values.keep) for (const one of ['stdout', 'stderr']) writeFileSync(join(root, `${one}.txt`), result[one]);
    if (values.keep) writeFileSync(join(root, 'seen.json'), JSON.stringify(model.seen, null, 1));
    if (values.keep) writeFileSync(join(root, 'proxy.log'), proxy.log());
    if (result.code !== 0) failures.push(`the task ended with code ${result.code}`);
    const answer = agent.answer(result);
    if (answer !== finalAnswer(nonce, FACTS)) failures.push(`the answer is ${JSON.stringify(answer)}`);
    failures.push(...checkResults(resultsSeen(model)));
    if (hasFetched(home)) failures.push('the plugin ran npx');
    const task = model.seen.filter(({ step }) => step !== '' && step !== 'title');
    if (agent.skill !== undefined && !task.some(({ body }) => body.includes(agent.skill)))
      failures.push('the skill is not on offer');

    for (const args of agent.remove) await expectSuccess(args);
    failures.push(...traces(home));
    const before = model.seen.length;
    script.steps.splice(0, script.steps.length, 'read', 'log', 'answer');
    const after = await start(agent.args(TASK, proxy.origin));
    if (agent.answer(after) !== finalAnswer(nonce, FACTS)) failures.push('the task fails after the removal');
    if (toolsSeen(model.seen.slice(before)).some((name) => /recover_text|recall$/.test(name)))
      failures.push('its tools are on offer after the removal');
    return { version, failures, tail, root };
  } finally {
    for (const close of closers.reverse()) await close();
    if (!values.keep) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function main() {
  if (values.help) return say(HELP);
  const chosen = agents.filter(
    ({ name }) => positionals.length === 0 || positionals.some((each) => name.startsWith(each)),
  );
  for (const agent of chosen) {
    const startedMs = performance.now();
    const {
      version = '',
      failures,
      tail = '',
      root = '',
    } = await session(agent).catch((cause) => ({
      failures: [cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)],
    }));
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
    const isOk = failures.length === 0;
    say(`${isOk ? 'ok    ' : 'FAILED'} ${agent.name} ${version}, ${seconds} s ${values.keep ? root : ''}`);
    for (const failure of failures) say(`       ${failure.slice(0, 800)}`);
    if (isOk) continue;
    say(tail);
    process.exitCode = 1;
  }
}

await main();
