// npm run demo:fleet: a pull request is reviewed by three child agents under $2, offline; each step is printed.
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { argv } from 'node:process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const BUDGET_USD = 2;
const ROLES = [
  {
    node: 'correctness',
    question: 'Does anything in this pull request charge an order twice, or leave a TODO?',
    looksFor: 'TODO',
    limits: { cost_usd: 0.6 },
  },
  {
    node: 'tests',
    question: 'Does this pull request skip tests (it.skip)?',
    looksFor: 'skip(',
    limits: { cost_usd: 0.6 },
  },
  {
    node: 'security',
    question: 'Does this pull request write a token to a log (log.info)?',
    looksFor: 'token=',
    limits: { cost_usd: 0.1 },
    questions: 50,
  },
];
/** With --keep the server goes on afterwards, so that its page can be looked at. */
const keeps = argv.includes('--keep');

const agent = fileURLToPath(new URL('agent.mjs', import.meta.url));
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-fleet-'));
const authToken = randomBytes(16).toString('hex');
const say = (text) => process.stdout.write(`${text}\n`);
const step = (text) => say(`\n── ${text}`);

/** Plays the model's provider: names the line of the last tool result that holds what the question asks for. */
let received = 0;
let requests = 0;
const provider = createServer(async (req, res) => {
  const chunks = [];
  for await (const chunk of req) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  received += body.length;
  requests++;
  const { messages } = JSON.parse(body.toString('utf8'));
  const { node, looksFor } = ROLES.find((role) => messages[0].content === role.question);
  const lines = messages.at(-1).content.split('\n');
  const found = lines.find((line) => line.startsWith('+') && line.includes(looksFor)) ?? `nothing about ${node}`;
  const usage = { prompt_tokens: Math.ceil(body.length / 4), completion_tokens: 400 };
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ model: 'demo', choices: [{ message: { role: 'assistant', content: found } }], usage }));
});

/** A pull request of 60 files: mostly a renamed import, with three lines that matter. */
const MATTERS = [
  '+  // TODO: orders above 1,000 are charged twice',
  "+  it.skip('refuses an expired card', () => {",
  "+  log.info('sent to ' + url + '?token=' + token);",
];
const diff = Array.from({ length: 60 }, (_, i) => {
  const path = `src/module-${i}.ts`;
  const lines = Array.from({ length: 24 }, (_line, n) => ` export const value${i}_${n} = compute(${i}, ${n});`);
  return [
    `diff --git a/${path} b/${path}`,
    `--- a/${path}`,
    `+++ b/${path}`,
    '@@ -1,26 +1,27 @@',
    "-import { compute } from './old.ts';",
    "+import { compute } from './new.ts';",
    ...lines,
    ...(i % 20 === 7 ? [MATTERS[(i - 7) / 20]] : []),
  ].join('\n');
}).join('\n');
const file = join(folder, 'pull-request.diff');
writeFileSync(file, diff);
writeFileSync(
  join(folder, 'prices.toml'),
  '[[price]]\nmodel = "demo"\nprovider = "openai"\ninput = 3.0\noutput = 15.0\nday = "2026-11-24"\nsource = "made up"\n',
);

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
    MCP_PRUNER_PRICES: join(folder, 'prices.toml'),
    MCP_PRUNER_AUTH_TOKEN: authToken,
    MCP_PRUNER_CHILDREN: `commands = ${JSON.stringify([process.execPath])}, grace = 300`,
    MCP_PRUNER_TIMEOUT_MS: '600000', // however busy the machine is
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

async function rpc(method, params, query = '') {
  const response = await fetch(`${url}/rpc${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${authToken}` },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = await response.json();
  if (error) throw new Error(`${params.name ?? method}: ${error.message} ${JSON.stringify(error.data)}`);
  return result;
}

async function call(name, args) {
  say(`> ${name} ${JSON.stringify(args).slice(0, 150)}`);
  return JSON.parse((await rpc('tools/call', { name, arguments: args })).content[0].text);
}

const child = (childId, { node, question, limits, questions = 1 }) => ({
  kind: 'task',
  id: childId,
  node_id: node,
  tool: 'child_run',
  input: {
    child_id: childId,
    command: process.execPath,
    args: [agent],
    prompt: JSON.stringify({ file, node, question, questions }),
    role: node,
    limits,
  },
});

/** The security reviewer gets a cheaper task once it has spent its limit: the contract net gives it to another agent. */
const taskOf = (role) =>
  role.questions === undefined
    ? child(`reviewer-${role.node}`, role)
    : {
        kind: 'selector',
        id: role.node,
        children: [
          child(`reviewer-${role.node}`, role),
          {
            kind: 'sequence',
            children: [
              {
                kind: 'task',
                node_id: role.node,
                tool: 'cnp_announce',
                input: {
                  task_id: role.node,
                  auto_bid: false,
                  manual_bids: [
                    { agent_id: 'second-opinion', cost: 10 },
                    { agent_id: 'expensive', cost: 25 },
                  ],
                },
                output_key: 'award',
              },
              child('second-opinion', { ...role, questions: 1, limits: { cost_usd: 0.6 } }),
            ],
          },
        ],
      };

try {
  step('What the tools cost in each request of an agent, by profile');
  for (const profile of ['', '?tools=fleet-lead', '?tools=fleet-worker']) {
    const { tools } = await rpc('tools/list', {}, profile);
    const tokens = Math.round(JSON.stringify(tools).length / 4);
    say(`  ${(profile || 'all').padEnd(20)} ${String(tools.length).padStart(3)} tools, about ${tokens} tokens`);
  }

  step(`A task graph: three reviews of a pull request (${Math.round(diff.length / 1024)} KB), and a summary of them`);
  await call('graph_mutate', {
    graph: {
      graph_id: 'review',
      nodes: [...ROLES.map(({ node }) => node), 'summary'].map((id) => ({ id, attributes: { state: 'open' } })),
      edges: ROLES.map(({ node }) => ({ from: node, to: 'summary' })),
      metadata: { dag: true },
    },
    operations: [{ op: 'set_node_attribute', id: 'summary', key: 'label', value: 'Summary' }],
  });

  step('A behaviour tree starts three children with a limit of dollars each; one asks too often and is ended');
  const tree = {
    id: 'review',
    root: {
      kind: 'sequence',
      children: [
        { kind: 'parallel', policy: 'all', children: ROLES.map(taskOf) },
        { kind: 'task', node_id: 'summary', tool: 'bb_query', input: { namespace: 'finding', tags: ['review'] } },
      ],
    },
  };
  const run = await call('plan_run_bt', { tree, run_id: 'demo' });
  say(`< ${run.status} after ${run.ticks} ticks`);
  let spent = 0;
  for (const { tool, node_id, output } of run.invocations) {
    if (tool === 'child_run') {
      const { child_id, state, stop_reason, exit_code, usage } = output;
      const why = stop_reason ?? `exit code ${exit_code}`;
      spent += usage.cost_usd ?? 0;
      say(`  ${child_id}: ${state} (${why}), ${usage.messages} requests, $${(usage.cost_usd ?? 0).toFixed(3)}`);
    } else if (tool === 'cnp_announce') say(`  contract net: ${node_id} goes to ${output.awarded_agent_id}`);
  }

  step('The review, read from the blackboard');
  for (const { key, value } of run.last_output.entries) say(`  ${key}: ${value.finding.trim()}  (${value.by})`);

  step('What is left: the graph, the pheromones, the log of the child that was ended');
  const { to, summary } = await call('graph_diff', { graph_id: 'review', from: { version: 1 }, to: { latest: true } });
  say(`  version ${to.version}, nodes changed: ${summary.nodes}`);
  const { totals } = await call('stig_snapshot', {});
  say(`  done: ${totals.map(({ node_id }) => node_id).join(', ')}`);
  const { payload } = await call('resources_read', { uri: 'sc://children/reviewer-security/logs' });
  const said = payload.logs.map(({ message }) => message).slice(-3);
  say(`  reviewer-security: ${said.join(' · ')}`);
  say(
    `\nThe review cost $${spent.toFixed(2)} of $${BUDGET_USD.toFixed(2)}. ${requests} requests reached the model with ` +
      `${Math.round(received / requests / 1024)} KB each; the agents sent ${Math.round(diff.length / 1024)} KB each: ` +
      'the diff was pruned on the way.',
  );
  const found = run.last_output.entries.filter(({ value }) => MATTERS.includes(value.finding));
  if (run.status !== 'success' || found.length !== ROLES.length || spent >= BUDGET_USD) process.exitCode = 1;
  if (keeps) {
    say(`\nThe page: ${url}/#/fleet, token ${authToken}. Ctrl-C ends it.`);
    await once(process, 'SIGINT');
  }
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
  provider.close();
  provider.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
