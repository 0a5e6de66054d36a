import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { FACTS, TASK, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { checkResults, resultsSeen } from './lib/recovered.mjs';
import { finalAnswer, startUpstream } from './lib/upstream.mjs';
import { command, setups } from './mcp/setups.mjs';

const HELP = `Real clients, started by \`mcp-pruner run\` and set up by \`mcp-pruner setup --write\`, do a task against a
scripted model: they read a large file, take a cut back over MCP, run a command and answer.

node test/clients/mcp.mjs [name…]       names of clients, or the beginning of names; all without one
  --way run|setup|stdio   one way only; stdio is \`setup --mcp stdio\`
  --timeout SECONDS       of one client (default 120)
  --keep                  keep each client's throw-away folder
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    way: { type: 'string' },
    timeout: { type: 'string', default: '120' },
    keep: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const KEY = 'sk-scripted-0000';
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const build = process.env.MCP_PRUNER_TEST_BUILD ?? fileURLToPath(new URL('../../dist', import.meta.url));
const CLI = resolve(build, 'cli.js');
const say = (text) => process.stdout.write(`${text}\n`);

function environment(home, bin) {
  return {
    PATH: `${bin}:${process.env.PATH ?? ''}`,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_STATE_HOME: join(home, '.local/state'),
    XDG_CACHE_HOME: join(home, '.cache'),
    TMPDIR: join(home, 'tmp'),
    LANG: 'C.UTF-8',
    TERM: 'dumb',
    NO_COLOR: '1',
    CI: '1',
    DO_NOT_TRACK: '1',
    OPENAI_API_KEY: KEY,
    HTTPS_PROXY: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
  };
}

/** Files below the home that still tell of this product; what a client writes of its session is its own. */
function traces(home) {
  const names = readdirSync(home, { recursive: true, encoding: 'utf8' });
  const settings = names.filter((name) =>
    /(?:settings|config|providers|mcp[^/]*|opencode|kilo|\.claude)\.(?:jsonc?|toml)$/.test(name),
  );
  const named = settings.filter((name) => /pruner/.test(readFileSync(join(home, name), 'utf8')));
  const backups = names.filter((name) => name.includes('before-mcp-pruner'));
  return [...named, ...backups].map((name) => `${name} still names this product`);
}

async function session(setup, way) {
  const nonce = randomBytes(5).toString('hex');
  const { folder, version, node } = await install(cache, setup.packages);
  const root = mkdtempSync(join(tmpdir(), `mcp-${setup.name}-`));
  const [home, work, bin, state] = ['home', 'work', 'bin', 'proxy'].map((name) => join(root, name));
  for (const each of [join(home, 'tmp'), work, bin, state]) mkdirSync(each, { recursive: true });
  writeProject(work, 'inside');
  const [name, target] = setup.program(folder);
  command(bin, name, target, node);

  const closers = [];
  try {
    const model = await startUpstream({ nonce, steps: setup.steps, calls: setup.calls, work });
    closers.push(model.close);
    const context = { modelUrl: model.url, work };
    const upstreams = {
      MCP_PRUNER_UPSTREAM_URL: `${model.url}/v1`,
      MCP_PRUNER_ANTHROPIC_URL: `${model.url}/v1`,
      MCP_PRUNER_GEMINI_URL: `${model.url}/v1beta`,
      MCP_PRUNER_TIMEOUT_MS: '30000',
    };
    const env = { ...environment(home, bin), ...setup.env(context) };
    const timeoutMs = Number(values.timeout) * 1000;
    const start = (program, args, more = {}) =>
      runProcess(program, args, { cwd: work, env: { ...env, ...more }, timeoutMs });
    const args = setup.args(TASK, context);
    const failures = [];
    let result;
    if (way === 'run') {
      const own = [CLI, 'run', setup.name, '--model', 'scripted', '--', ...args];
      result = await start(process.execPath, own, upstreams);
      const lines = result.stderr.split('\n').filter((line) => line.startsWith('mcp-pruner: '));
      const isPlain = lines.length === 2 && !/ -> |run:/.test(lines.join('\n'));
      if (!isPlain) failures.push(`run says on stderr: ${lines.join(' | ')}`);
      failures.push(...traces(home));
      const left = readdirSync(join(home, 'tmp')).filter((each) => each.startsWith('mcp-pruner'));
      if (left.length > 0) failures.push(`left behind: ${left}`);
    } else {
      const proxy = await startProxy({ upstream: model.url, folder: state });
      closers.push(proxy.close);
      const settings = { MCP_PRUNER_PORT: new URL(proxy.origin).port, MCP_PRUNER_DB_PATH: join(state, 'pruner.db') };
      const mcp = way === 'stdio' ? ['--mcp', 'stdio'] : [];
      const setupArgs = [CLI, 'setup', setup.name, '--model', 'scripted', ...mcp];
      const written = await start(process.execPath, [...setupArgs, '--write'], settings);
      if (written.code !== 0) failures.push(`setup --write failed: ${written.stderr}`);
      const doctor = await start(process.execPath, [CLI, 'doctor'], {
        ...settings,
        ...upstreams,
        ...setup.variables?.({ baseUrl: `${proxy.origin}/v1` }),
      });
      if (doctor.code !== 0 || !/is set up\n/.test(doctor.stdout))
        failures.push(`doctor: ${doctor.stdout}${doctor.stderr}`);
      const more = setup.withoutProxies ? { HTTPS_PROXY: '', https_proxy: '' } : {};
      result = await start(name, [...(setup.ownArgs ?? []), ...args], {
        ...more,
        ...setup.ownEnv,
        ...setup.variables?.({ baseUrl: `${proxy.origin}/v1` }),
      });
      const undone = await start(process.execPath, [...setupArgs, '--undo'], settings);
      if (undone.code !== 0) failures.push(`setup --undo failed: ${undone.stderr}`);
      failures.push(...traces(home));
    }
    if (result.timedOut) failures.push('the client did not end in time');
    else if (result.code !== 0) failures.push(`the client ended with code ${result.code}`);
    const answer = setup.answer(result);
    if (answer !== finalAnswer(nonce, FACTS)) failures.push(`the answer is ${JSON.stringify(answer)}`);
    failures.push(...checkResults(resultsSeen(model)));
    if (values.keep || failures.length > 0) {
      writeFileSync(join(root, 'stdout.txt'), result.stdout);
      writeFileSync(join(root, 'stderr.txt'), result.stderr);
      writeFileSync(join(root, 'seen.json'), JSON.stringify(model.seen, null, 1));
    }
    return { version, failures, root, tail: `${result.stdout.slice(-800)}\n${result.stderr.slice(-1500)}` };
  } finally {
    for (const close of closers.reverse()) await close();
    if (!values.keep) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function main() {
  if (values.help) return say(HELP);
  const chosen = setups.filter(
    ({ name }) => positionals.length === 0 || positionals.some((each) => name.startsWith(each)),
  );
  for (const setup of chosen) {
    for (const way of ['run', 'setup', 'stdio'].filter((each) => values.way === undefined || values.way === each)) {
      const startedMs = performance.now();
      const {
        version = '',
        failures,
        tail = '',
        root = '',
      } = await session(setup, way).catch((cause) => ({
        failures: [cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)],
      }));
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      say(
        `${failures.length === 0 ? 'ok    ' : 'FAILED'} ${setup.name} ${version} by ${way}, ${seconds} s ${values.keep ? root : ''}`,
      );
      for (const failure of failures) say(`       ${failure.slice(0, 600)}`);
      if (failures.length > 0) {
        say(tail);
        process.exitCode = 1;
      }
    }
  }
}

await main();
