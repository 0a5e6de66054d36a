import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { agents } from './fleet/agents.mjs';
import { checkLimited, checkWhole } from './fleet/checks.mjs';
import { ChildServer } from './fleet/child-server.mjs';
import { install } from './lib/install.mjs';
import { TASK, writeProject } from './lib/project.mjs';
import { startUpstream } from './lib/upstream.mjs';
import { command } from './mcp/setups.mjs';

const HELP = `Real agents, started as children of the fleet, do a task against a scripted model: they read a large file, run a
command with a large output, and answer. Each runs twice: to its end, and with a limit of two model requests.

node test/clients/fleet.mjs [name…]     names of agents, or the beginning of names; all without one
  --timeout SECONDS       of one child (default 120)
  --keep                  keep each child's throw-away folder, with its log and what the model received

Agents are installed on demand into MCP_PRUNER_CLIENTS_DIR. The proxy is the built one (npm run build).
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
const say = (text) => process.stdout.write(`${text}\n`);

/** What the second run allows. */
const LIMITED = { messages: 2 };

/**
 * One child does the task once.
 *
 * @param {object} agent - of `agents`
 * @param {{ folder: string, node: string }} installed
 * @param {Record<string, number> | undefined} limits
 */
async function runChild(agent, { folder, node }, limits) {
  const nonce = randomBytes(5).toString('hex');
  const root = mkdtempSync(join(tmpdir(), `fleet-${agent.name}-`));
  const [home, work, bin, state] = ['home', 'work', 'bin', 'proxy'].map((name) => join(root, name));
  for (const each of [join(home, 'tmp'), work, bin, state]) mkdirSync(each, { recursive: true });
  writeProject(work, 'inside');
  const [name, target] = agent.program(folder);
  command(bin, name, target, node);
  const closers = [];
  try {
    const model = await startUpstream({ nonce, steps: ['read', 'log', 'answer'], calls: agent.calls, work });
    closers.push(model.close);
    const server = await ChildServer.start(
      { upstream: model.url, state, home, bin, work },
      Object.keys(agent.input.env),
    );
    closers.push(() => server.close());
    const timeoutMs = Number(values.timeout) * 1000;
    const asked = { ...agent.input, agent: agent.name, child_id: 'child', prompt: TASK, ...(limits && { limits }) };
    const { manifest, logs, events } = await server.runChild(asked, timeoutMs);
    const run = {
      nonce,
      manifest,
      logs,
      events,
      seen: model.seen,
      answer: agent.answer(logs),
      secrets: server.secrets,
    };
    const failures = limits === undefined ? checkWhole(run) : checkLimited(run, limits);
    if (values.keep) {
      writeFileSync(join(root, 'run.json'), JSON.stringify({ ...run, proxy: server.log() }, null, 1));
      say(`  kept ${root}`);
    }
    return {
      failures,
      usage: manifest.usage,
      tail: logs
        .map(({ message }) => message)
        .join('\n')
        .slice(-2000),
    };
  } finally {
    for (const close of closers.reverse()) await close();
    if (!values.keep) rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function main() {
  if (values.help) return say(HELP);
  const chosen = agents.filter(
    ({ name }) => positionals.length === 0 || positionals.some((one) => name.startsWith(one)),
  );
  for (const agent of chosen) {
    const installed = await install(cache, agent.name);
    for (const limits of [undefined, LIMITED]) {
      const what = limits === undefined ? 'to its end' : `with ${JSON.stringify(limits)}`;
      const startedMs = performance.now();
      const result = await runChild(agent, installed, limits).catch((cause) => ({
        failures: [cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)],
        usage: null,
        tail: '',
      }));
      const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
      const isOk = result.failures.length === 0;
      say(
        `${isOk ? 'ok    ' : 'FAILED'} ${agent.name} ${installed.version} ${what}, ${seconds} s, ${JSON.stringify(result.usage)}`,
      );
      for (const failure of result.failures) say(`       ${failure.slice(0, 600)}`);
      if (isOk) continue;
      say(result.tail);
      process.exitCode = 1;
    }
  }
}

await main();
