import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from '../../bench/load.mjs';
import { shellCall } from './lib/calls.mjs';
import { startHop } from './lib/hop.mjs';
import { install } from './lib/install.mjs';
import { logText, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { rebuild } from './lib/rebuild.mjs';
import { recoverText } from './lib/rpc.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { textOf } from './lib/wire.mjs';
import { wireNamed } from './lib/wires.mjs';
import { claude } from './seams/claude.mjs';
import { codex } from './seams/codex.mjs';
import { opencode } from './seams/opencode.mjs';
import { pi } from './seams/pi.mjs';

const HELP = `Real clients in a long session behind the checking upstreams (docs/conformance.md), with MCP_PRUNER_SEAMS=on.
The provider summarises finished work; then proxy and client are killed, switched, rewound, forked and compacted. Each client
also does the same without a proxy: what breaks then is of its own making.

node test/clients/seams.mjs [name…] [--model ID] [--verbose]
`;
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const bench = (name) => fileURLToPath(new URL(`../../bench/conformance/${name}.ts`, import.meta.url));
const shells = ['Bash', 'bash', 'shell_command', 'shell', 'exec_command'];
// with newer models, Claude Code sends messages of the system, and gets no summary
const MODELS = { messages: 'claude-opus-4-6', responses: 'gpt-6.2-sol' };
/** Codex has newer models run commands in scripts. */
const SHELL_MODEL = 'gpt-5.3-codex';
/** Tokens that the providers report. With more, Claude Code would compact at each task. */
const FIRST = 10_000;
const EACH = 10_000;
const MOST = 120_000;
const ENDED = 5;
const ENDED_TURNS = 30;
const ENDED_TOKENS = 3_000_000;
const TIMEOUT_MS = 150_000;
/** Tasks before the provider's summary is expected. */
const TASKS = 4;

const CLIENTS = {
  claude: { packages: 'claude', wire: 'messages', start: claude },
  codex: { packages: 'codex', wire: 'responses', start: codex(), model: SHELL_MODEL, canMove: true },
  'codex-openai': { packages: 'codex', wire: 'responses', start: codex({ name: 'OpenAI' }), model: SHELL_MODEL },
  // the history stays with the provider: no summary is ever made
  'codex-socket': {
    packages: 'codex',
    wire: 'responses',
    start: codex({ isSocket: true }),
    model: SHELL_MODEL,
    hasNone: true,
  },
  'pi-messages': { packages: 'pi', wire: 'messages', start: pi('anthropic-messages') },
  'pi-responses': { packages: 'pi', wire: 'responses', start: pi('openai-responses') },
  'opencode-messages': { packages: 'opencode', wire: 'messages', start: opencode('messages') },
  'opencode-responses': { packages: 'opencode', wire: 'responses', start: opencode('responses') },
};

/** The model: a command for each task, then words. */
function play(wire, body) {
  const { tools, messages } = wireNamed(wire).read(body);
  // Claude Code puts messages of the system behind the user's
  const last = messages.findLast(({ role }) => role !== 'system');
  if (tools.length === 0 || last?.role === 'tool' || last?.role === 'assistant') return { says: 'Done.', calls: [] };
  if (/summary of (?:the|this|our) (?:conversation|session)/i.test(textOf(last)))
    return { says: '<summary>It was done.</summary>', calls: [] };
  const [, task] = /^\s*"?Task (\d+)/m.exec(textOf(last)) ?? [];
  if (task === undefined) return { says: 'Noted.', calls: [] };
  return { says: 'I run it.', calls: [shellCall(shells, `node scripts/nightly.mjs ${task}`)(tools)] };
}

/** The log of a task. */
function logOf(task) {
  return logText('inside').replaceAll(/\b\d{4,5}\b/g, (number) => String(Number(number) + 7 * task));
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

/** Everything around one client: its folders, the providers, the proxy, and the relay before it. */
async function open(name, { isDirect, model }) {
  const { packages, wire } = CLIENTS[name];
  const installed = await install(cache, packages);
  const { CheckingUpstream } = await load(bench('upstream'));
  const { CLOCK_PRELOAD } = await load(bench('clock'));
  const root = mkdtempSync(join(tmpdir(), `seams-${name}-`));
  const [home, work, state] = ['home', 'work', 'proxy'].map((folder) => join(root, folder));
  for (const folder of [join(home, 'tmp'), work, state]) mkdirSync(folder, { recursive: true });
  writeProject(work, 'inside');
  for (let task = 1; task < 40; task++) writeFileSync(join(work, `scripts/nightly-${task}.txt`), logOf(task));
  const script = `import { readFileSync } from 'node:fs';
process.stdout.write(readFileSync(new URL(\`./nightly-\${process.argv[2]}.txt\`, import.meta.url)));
setTimeout(() => {}, 500);
`;
  writeFileSync(join(work, 'scripts/nightly.mjs'), script);
  const clock = join(root, 'clock');
  writeFileSync(clock, '0');
  writeFileSync(join(root, 'clock.cjs'), CLOCK_PRELOAD);
  const problems = [];
  let isEnding = true;
  const safely = (...of) => {
    try {
      return play(...of);
    } catch (cause) {
      problems.push(String(cause.stack).slice(0, 400));
      return { says: 'Done.', calls: [] };
    }
  };
  const upstream = new CheckingUpstream(safely, (count) =>
    isEnding ? ENDED_TOKENS : Math.min(MOST, FIRST + EACH * count),
  );
  await upstream.start();
  const settings = {
    ...{ MCP_PRUNER_SEAMS: 'on', MCP_PRUNER_SEAM_TOKENS: '100000', MCP_PRUNER_LOG_LEVEL: 'debug' },
    MCP_PRUNER_SEAMS_HOSTS: new URL(upstream.origin).host,
    NODE_OPTIONS: `--require ${join(root, 'clock.cjs')}`,
    CONFORMANCE_CLOCK: clock,
  };
  const start = () => startProxy({ upstream: upstream.origin, folder: state, settings });
  let proxy = await start();
  if (!isDirect) {
    await endSome(proxy.origin, wire, model);
    await proxy.close(); // now all of them are in the ledger
    proxy = await start();
  }
  isEnding = false;
  writeFileSync(clock, String(3 * 3_600_000));
  const before = { seen: 0, hook: null };
  const hop = await startHop(async () => {
    const { hook } = before;
    if (hook !== null && ++before.seen > 1) {
      before.hook = null;
      await hook();
    }
    return { origin: isDirect ? upstream.origin : proxy.origin };
  });
  const close = async () => {
    await hop.close();
    await proxy.close();
    await upstream.close();
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  };
  /** Has something happen before the second request from now on. */
  const inBetween = (hook) => Object.assign(before, { seen: 0, hook });
  return { installed, home, work, upstream, proxy, hop, problems, inBetween, close };
}

async function madeBy({ origin }) {
  const text = await (await fetch(`${origin}/metrics`)).text();
  return Number(/compactions_total\{result="made"\} (\d+)/.exec(text)?.[1] ?? 0);
}

/** What happens to a session: the event, and what is done for it. */
function eventsOf(client, world, { isDirect, canMove }) {
  const { proxy, upstream, inBetween } = world;
  let tasks = 0;
  const task = () => `Task ${++tasks}: please do the nightly run of the shop again.`;
  const on = ['goes on', () => client.say(task())];
  const after = (settings) => async () => {
    if (!isDirect) await proxy.restart(settings);
    await client.say(task());
  };
  const killed = [
    'kill -9 in mid-task',
    async () => {
      if (!isDirect) inBetween(() => proxy.restart({}));
      await client.say(task());
    },
  ];
  const restarted = [
    'client restarts',
    async () => {
      await client.restart();
      await client.say(task());
    },
  ];
  const moved = (event, toSocket) => [
    event,
    async () => {
      await client.move(toSocket);
      await client.say(task());
    },
  ];
  const moves = [
    moved('moves to a WebSocket', true),
    ...[on, killed, ['summaries off', after({ MCP_PRUNER_SEAMS: 'off', MCP_PRUNER_ENABLED: 'false' })], restarted],
    moved('moves back to POST', false),
    ...[on, ['on again', after({})]],
  ];
  return [
    ...Array.from({ length: TASKS }, (_, i) => [
      i === 0 ? 'begins' : 'goes on',
      async () => {
        await client.say(task());
        if (i === TASKS - 1) for (let j = 0; j < 60 && (await madeBy(proxy)) === 0; j++) await pause(50);
      },
    ]),
    on,
    killed,
    [
      'kill -9 under way',
      async () => {
        if (!isDirect) upstream.atSummary = { isAnswered: false, happen: () => proxy.restart({}) };
        await client.say(task());
        upstream.atSummary = null;
      },
    ],
    ['kill switch', after({ MCP_PRUNER_ENABLED: 'false' })],
    ['summaries off', after({ MCP_PRUNER_SEAMS: 'off' })],
    ['on again', after({})],
    restarted,
    ['rewinds a task', () => client.rewind(task())],
    on,
    ['forks', () => client.fork(task())],
    on,
    ['compacts', () => client.compact()],
    on,
    on,
    ['rewinds before the block', () => client.far(task())],
    on,
    ['returns to the first', () => client.back(task())],
    on,
    ...(canMove ? moves : []),
  ];
}

const pause = (ms) => new Promise((go) => setTimeout(go, ms));

/** Runs a session. @returns figures of each event */
async function run(name, { isDirect, model, isVerbose }) {
  const world = await open(name, { isDirect, model });
  const { upstream, hop, proxy, problems, installed } = world;
  const { start, canMove = false } = CLIENTS[name];
  const strangers = new Set(upstream.strangers.values());
  const own = () => [...upstream.strangers.values()].filter((one) => !strangers.has(one));
  const sum = (count) => own().reduce((total, one) => total + count(one), 0);
  const rows = [];
  const noted = new Set();
  const { home, work } = world;
  const client = start({
    ...{ ...installed, home, work, url: hop.url, env: environment(home), model, timeoutMs: TIMEOUT_MS },
  });
  try {
    for (const [event, act] of eventsOf(client, world, { isDirect, canMove })) {
      const [requests, swapped, first] = [sum((one) => one.requests), sum((one) => one.swapped), hop.seen.length];
      let failure = '';
      await act().catch((cause) => {
        failure = String(cause.message);
      });
      const now = own()
        .flatMap(({ breaks }) => breaks)
        .filter((one) => !noted.has(one));
      for (const one of now) noted.add(one);
      const named = hop.seen.slice(first).filter(({ path }) => /\/(?:messages|responses)\b/.test(path));
      const of = (effects) =>
        new Set(
          now
            .filter(({ effect }) => effects.includes(effect))
            .map(({ from, agent, request }) => from ?? `${agent} ${request}`),
        );
      rows.push({
        event,
        requests: named.length || sum((one) => one.requests) - requests,
        swapped: sum((one) => one.swapped) - swapped,
        broken: of(['refused', 'dropped']).size,
        changed: of(['changed']).size,
        // answered by another form of the request
        again: named.filter(({ id }) => (upstream.arrivals.get(id) ?? 0) > 1).length,
        refused: named.filter(({ status }) => status === 400).length,
        failed: named.filter(({ status }) => status > 400 || status === 0).length,
        failure,
      });
      if (isVerbose) process.stdout.write(`    ${new Date().toISOString()} ${JSON.stringify(rows.at(-1))}\n`);
      if (isVerbose) for (const one of now) process.stdout.write(`    ${event}: ${JSON.stringify(one)}\n`);
    }
    const lost = isDirect
      ? 0
      : await lostIn(
          own(),
          proxy.origin,
          [...hop.seen, ...hop.frames].map((one) => one.sent),
        );
    const reasons = new Map();
    for (const [, reason] of proxy.log().matchAll(/"reason":"([a-z_0-9]+)"/g))
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
    const made = (proxy.log().match(/finished work was summarised by the provider/g) ?? []).length;
    return { rows, lost, made, reasons: Object.fromEntries(reasons), problems, version: installed.version };
  } finally {
    await client.end();
    await world.close();
  }
}

/** Cut results that are not as the client sent them, with all lines recovered; -1 if nothing was cut. */
async function lostIn(strangers, origin, sent) {
  let lost = 0;
  let cuts = 0;
  for (const text of strangers.flatMap(({ results }) => [...results.values()])) {
    if (!text.includes('⟦PRUNÉ')) continue;
    cuts++;
    const { text: whole } = await rebuild(text, (cut) => recoverText(origin, cut));
    const written = JSON.stringify(whole).slice(1, -1);
    if (!sent.some((body) => body.includes(written))) lost++;
  }
  return cuts === 0 ? -1 : lost;
}

const names = process.argv.slice(2).filter((word, i, all) => !word.startsWith('--') && all[i - 1] !== '--model');
const at = process.argv.indexOf('--model');
const isVerbose = process.argv.includes('--verbose');
if (process.argv.includes('--help')) {
  process.stdout.write(HELP);
  process.exit(0);
}
for (const name of names.length > 0 ? names : Object.keys(CLIENTS)) {
  const model = at < 0 ? (CLIENTS[name].model ?? MODELS[CLIENTS[name].wire]) : process.argv[at + 1];
  const through = await run(name, { isDirect: false, model, isVerbose });
  const direct = await run(name, { isDirect: true, model, isVerbose });
  const { rows, lost, made, reasons, problems, version } = through;
  process.stdout.write(`${name} ${version}, ${model}: ${JSON.stringify({ made, lost, reasons })}\n`);
  for (const problem of [...problems, ...direct.problems]) process.stdout.write(`  ${problem}\n`);
  for (const [i, row] of rows.entries()) {
    const control = direct.rows[i];
    const { event, requests, swapped, broken, changed, again, refused, failed, failure } = row;
    const words = [
      ...[event.padEnd(26), `requests ${requests}/${control.requests}`, `block ${swapped}`],
      ...[`broken ${broken}/${control.broken}`, `changed ${changed}/${control.changed}`, `again ${again}`],
      ...[`400 ${refused}/${control.refused}`, `5xx ${failed}/${control.failed}`, failure && `FAILED ${failure}`],
      control.failure && `(without proxy: ${control.failure})`,
    ];
    process.stdout.write(`  ${words.filter(Boolean).join('  ')}\n`);
    if (broken > control.broken || (failure !== '' && control.failure === '')) process.exitCode = 1;
  }
  const hasBlock = rows.some(({ swapped }) => swapped > 0);
  if (lost !== 0 || hasBlock === (CLIENTS[name].hasNone ?? false)) process.exitCode = 1;
}
