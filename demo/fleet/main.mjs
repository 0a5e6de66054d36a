// npm run demo:fleet: a parent has three logs reviewed by three child agents, offline, and prints each step.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const agent = fileURLToPath(new URL('agent.mjs', import.meta.url));
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fleet-'));
const authToken = randomBytes(16).toString('hex');
const say = (text) => process.stdout.write(`${text}\n`);
const step = (text) => say(`\n── ${text}`);

/** Plays the model's provider: names the line of the log that tells an error. */
let received = 0;
let requests = 0;
const provider = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  received += body.length;
  requests++;
  const { messages } = JSON.parse(body.toString('utf8'));
  const line =
    messages
      .at(-1)
      .content.split('\n')
      .find((one) => one.includes('ERROR')) ?? 'no error';
  const usage = { prompt_tokens: Math.ceil(body.length / 4), completion_tokens: 20 };
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ choices: [{ message: { role: 'assistant', content: line } }], usage }));
});

const names = ['api.log', 'worker.log', 'cron.log'];
let written = 0;
for (const [i, name] of names.entries()) {
  const lines = Array.from({ length: 4000 }, (_, n) =>
    n === 2345
      ? `2026-01-0${i + 1}T10:00:00Z ERROR ${name}: connection refused by db-${i} after 3 attempts`
      : `2026-01-0${i + 1}T10:00:${String(n % 60).padStart(2, '0')}Z INFO request ${n} served in ${(n * 7) % 40} ms`,
  );
  writeFileSync(join(folder, name), lines.join('\n'));
  written += lines.join('\n').length;
}

provider.listen(0, '127.0.0.1');
await once(provider, 'listening');
const server = spawn(process.execPath, [cli, 'serve', '--enable-fleet', '--port', '0'], {
  cwd: folder,
  env: {
    PATH: process.env.PATH,
    ...(process.env.MCP_PRUNER_DATABASE_URL && { MCP_PRUNER_DATABASE_URL: process.env.MCP_PRUNER_DATABASE_URL }),
    HOME: folder,
    MCP_PRUNER_UPSTREAM_URL: `http://127.0.0.1:${provider.address().port}/v1`,
    MCP_PRUNER_DB_PATH: join(folder, 'store.db'),
    MCP_PRUNER_AUTH_TOKEN: authToken,
    MCP_PRUNER_CHILD_COMMANDS: process.execPath,
    MCP_PRUNER_CHILD_GRACE_MS: '300',
  },
  stdio: ['ignore', 'pipe', 'inherit'],
});
const url = await new Promise((resolve, reject) => {
  server.once('exit', () => reject(new Error('the server did not start')));
  createInterface({ input: server.stdout }).on('line', (line) => {
    const { msg = '', url: at } = JSON.parse(line);
    if (msg.startsWith('listening')) resolve(at);
  });
});

async function call(name, args, quiet = false) {
  if (!quiet) say(`> ${name} ${JSON.stringify(args).slice(0, 150)}`);
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${authToken}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(`${name}: ${error.message} ${JSON.stringify(error.data)}`);
  return JSON.parse(result.content[0].text);
}

const child = (childId, name, more = {}, limits = { messages: 10 }) => ({
  kind: 'task',
  id: childId,
  node_id: name,
  tool: 'child_run',
  input: {
    child_id: childId,
    command: process.execPath,
    args: [agent],
    prompt: JSON.stringify({ file: join(folder, name), node: name, ...more }),
    role: 'reviewer',
    limits,
  },
});

try {
  step('A task graph: three logs to review, and a summary of them');
  await call('graph_mutate', {
    graph: {
      graph_id: 'review',
      nodes: [...names, 'summary'].map((id) => ({ id, attributes: { state: 'open' } })),
      edges: names.map((from) => ({ from, to: 'summary' })),
      metadata: { dag: true },
    },
    operations: [{ op: 'set_node_attribute', id: 'summary', key: 'label', value: 'Summary' }],
  });

  step('A behaviour tree starts three children; the third may use few tokens and asks too often');
  const [first, second, third] = names;
  const tree = {
    id: 'review',
    root: {
      kind: 'sequence',
      children: [
        {
          kind: 'parallel',
          policy: 'all',
          children: [
            child('reviewer-1', first),
            child('reviewer-2', second),
            {
              kind: 'selector',
              children: [
                child('reviewer-3', third, { questions: 50 }, { tokens: 2000 }),
                {
                  kind: 'sequence',
                  children: [
                    {
                      kind: 'task',
                      node_id: third,
                      tool: 'cnp_announce',
                      input: {
                        task_id: third,
                        auto_bid: false,
                        manual_bids: [
                          { agent_id: 'reviewer-4', cost: 10 },
                          { agent_id: 'reviewer-5', cost: 25 },
                        ],
                      },
                      output_key: 'award',
                    },
                    child('reviewer-4', third),
                  ],
                },
              ],
            },
          ],
        },
        { kind: 'task', node_id: 'summary', tool: 'bb_query', input: { namespace: 'finding', tags: ['review'] } },
      ],
    },
  };
  const run = await call('plan_run_bt', { tree, run_id: 'demo' });
  say(`< ${run.status} after ${run.ticks} ticks`);
  for (const { tool, node_id, output } of run.invocations) {
    if (tool === 'child_run') {
      const { child_id, state, stop_reason, exit_code, usage } = output;
      const why = stop_reason ?? `exit code ${exit_code}`;
      say(`  ${child_id} on ${node_id}: ${state} (${why}), ${usage.messages} requests, ${usage.tokens} tokens`);
    } else if (tool === 'cnp_announce') say(`  contract net: ${node_id} goes to ${output.awarded_agent_id}`);
  }

  step('The summary, read from the blackboard');
  for (const { key, value } of run.last_output.entries) say(`  ${key}: ${value.finding}  (${value.by})`);

  step('What is left: the graph, the pheromones, the log of the child that was stopped');
  const { to, summary } = await call('graph_diff', { graph_id: 'review', from: { version: 1 }, to: { latest: true } });
  say(`  version ${to.version}, nodes changed: ${summary.nodes}`);
  const { totals } = await call('stig_snapshot', {});
  say(`  done: ${totals.map(({ node_id }) => node_id).join(', ')}`);
  const { payload } = await call('resources_read', { uri: 'sc://children/reviewer-3/logs' });
  say(
    `  reviewer-3: ${payload.logs
      .map(({ message }) => message)
      .slice(-3)
      .join(' · ')}`,
  );
  say(
    `\n${requests} requests reached the model with ${Math.round(received / requests / 1024)} KB each; ` +
      `the agents sent ${Math.round(written / names.length / 1024)} KB each: the logs were pruned on the way.`,
  );
  if (run.status !== 'success' || run.last_output.entries.length !== 3) process.exitCode = 1;
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  provider.close();
  provider.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
