import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { drivers } from './drivers/all.mjs';
import { install } from './lib/install.mjs';
import { FACTS, TASK } from './lib/project.mjs';
import { runSession } from './lib/session.mjs';
import { finalAnswer } from './lib/upstream.mjs';
import { wireOf } from './lib/wires.mjs';

const Database = createRequire(import.meta.url)(
  Number(process.versions.node.split('.')[0]) >= 22 ? 'better-sqlite3-13' : 'better-sqlite3',
);

/**
 * Clients with MCP_PRUNER_TOOL_SHELF=on: their tools go whole in the first session and shortened in the second, in which the
 * model calls a shortened one all the same. In the third session that tool is whole again.
 *
 * node test/clients/shelf.mjs [name…]      names of set-ups as in run.mjs; by default one for each client and wire. Clients
 * are installed on demand into MCP_PRUNER_CLIENTS_DIR; the proxy is the built one. Of a program whose descriptions are
 * all short, the tools must stay as declared.
 */
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const names = process.argv.slice(2);
const wanted = names.length > 0 ? names : ['claude', 'codex', 'codex-chat', 'opencode', 'gemini', 'cline'];
/** Stands in the marker of a shortened description; a marker alone is named by the description of `recover_text` too. */
const MARK = 'raison=description';
/** Shorter descriptions are not shortened: a marker costs more than it saves. */
const SHORT_CHARS = 200;
const { factor, code, release } = FACTS;
/** What is called, and which facts that brings: the shell tool, or another one where the shell's description is short. */
const SHELL = { call: ({ log }) => log, facts: { code, release } };
const READ = { call: ({ read }) => read, facts: { factor } };
const GOAL = { call: () => () => ({ name: 'update_goal', args: { status: 'complete' } }), facts: {} };
/** Fails in the client, which is a result as well. */
const EDIT = {
  call: () => () => ({ name: 'edit', args: { path: 'absent.txt', edits: [{ oldText: 'a', newText: 'b' }] } }),
  facts: {},
};
const OTHERS = {
  pi: EDIT,
  'pi-responses': EDIT,
  'pi-messages': EDIT,
  'pi-run': EDIT,
  'pi-file': EDIT,
  codex: GOAL,
  'codex-mcp': GOAL,
  'codex-run': GOAL,
  cline: READ,
  'cline-mcp': READ,
  'cline-default': READ,
  kilo: READ,
  'kilo-mcp': READ,
};

/** What one session must have to see for the proxy to call a tool unused: five conversations on two days. */
function age(path) {
  const db = new Database(path);
  db.exec('UPDATE tool_declaration SET conversations = 5, days = 2');
  db.close();
}

/** The tools of a request by name, each as it stands in the body. */
function toolsIn(body) {
  const found = new Map();
  const walk = (value) => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (value !== null && typeof value === 'object') {
      const { name, description } = value.function ?? value;
      if (typeof name === 'string' && typeof description === 'string') found.set(name, JSON.stringify(value));
      for (const key of ['tools', 'functionDeclarations']) walk(value[key]);
    }
  };
  const { tools, input } = JSON.parse(body);
  walk(tools);
  walk(Array.isArray(input) ? input.filter(({ type }) => type === 'additional_tools') : []);
  return found;
}

const areShort = (tools) =>
  [...tools.values()].every((text) =>
    [...text.matchAll(/"description":"([^"]*)"/g)].every(([, d]) => d.length < SHORT_CHARS),
  );
const shortened = (tools) => [...tools].filter(([, text]) => text.includes(MARK)).map(([name]) => name);
const tokens = (tools) => Math.round([...tools.values()].join('').length / 4);

/** The name of the tool that was called in a session. */
function calledIn(bodies) {
  const [{ path, body }] = bodies.slice(-1);
  const calls = wireOf(path)
    .read(JSON.parse(body))
    .messages.flatMap(({ tool_calls: made = [] }) => made);
  return calls.at(-1)?.function.name ?? '';
}

async function threeSessions(driver) {
  const long = OTHERS[driver.name] ?? SHELL;
  const installed = await install(cache, driver.packages);
  const root = mkdtempSync(join(tmpdir(), `client-shelf-${driver.name}-`));
  /** Each session has first words of its own: the same words would be the same conversation. */
  const session = async (steps, task) => {
    const nonce = randomBytes(5).toString('hex');
    const settings = { MCP_PRUNER_TOOL_SHELF: 'on' };
    const of = {
      through: 'start',
      root,
      task,
      nonce,
      settings,
      timeoutMs: 240_000,
      keep: false,
    };
    const calls = { long: long.call(driver.calls) };
    const done = await runSession({ ...driver, steps, calls }, installed, of);
    await done.close();
    const bodies = done.received.filter(({ step }) => step !== '' && step !== 'title');
    return { ...done, nonce, bodies, tools: bodies.map(({ body }) => toolsIn(body)) };
  };
  const problems = [];
  try {
    const first = await session(['answer'], 'Say that you are done.');
    age(join(root, 'proxy/pruner.db'));
    const second = await session(['long', 'answer'], TASK);
    const third = await session(['answer'], 'Say once more that you are done.');
    const [whole] = first.tools;
    const [short] = second.tools;
    const [next] = third.tools;
    if (!whole || !short || !next || second.bodies.length < 2) {
      problems.push(`too few requests: ${[first, second, third].map(({ bodies }) => bodies.length)}`);
      return { version: installed.version, problems, said: second.result.stderr.slice(-800) };
    }
    const called = calledIn(second.bodies);
    const attached = driver.name.endsWith('-file') ? { factor } : {}; // the file comes with the question
    const answer = finalAnswer(second.nonce, { ...long.facts, ...attached });
    if (first.tools.some((tools) => shortened(tools).length > 0)) problems.push('the first session did not go whole');
    if (second.answer !== answer) problems.push(`the answer is ${JSON.stringify(second.answer)}`);
    if (areShort(whole)) {
      if ([short, next].some((tools) => JSON.stringify([...tools]) !== JSON.stringify([...whole])))
        problems.push('tools with short descriptions changed');
      return { version: installed.version, problems, figures: `none of ${whole.size} tools has a long description` };
    }
    if (!second.tools.every((tools) => shortened(tools).includes(called)))
      problems.push(`${called} was not shortened in all requests of the second session`);
    if (new Set(second.tools.map((tools) => JSON.stringify([...tools]))).size !== 1)
      problems.push('the tools of the second session changed');
    if (shortened(next).includes(called)) problems.push(`${called} is not whole again in the third session`);
    if (shortened(short).length > 1 && shortened(next).length === 0)
      problems.push('no other tool is shortened in the third session');
    const figures = `${shortened(short).length} of ${short.size} tools shortened, ${tokens(whole)} → ${tokens(short)} tokens; ${called} called`;
    return { version: installed.version, problems, figures };
  } finally {
    rmSync(root, { recursive: true, force: true, maxRetries: 3 });
  }
}

for (const name of wanted) {
  const driver = drivers.find((each) => each.name === name);
  if (!driver) throw new Error(`no such client: ${name}`);
  const { version, problems, figures = '', said = '' } = await threeSessions(driver);
  process.stdout.write(`${problems.length === 0 ? 'ok    ' : 'FAILED'} ${name} ${version}: ${figures}\n`);
  for (const problem of problems) process.stdout.write(`       ${problem}\n`);
  if (said !== '') process.stdout.write(`${said}\n`);
  if (problems.length > 0) process.exitCode = 1;
}
