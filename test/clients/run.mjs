import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drivers } from './drivers/all.mjs';
import { PROXY_STEPS } from './lib/calls.mjs';
import { CHECKED_SETUPS, judgeChecked, startCheckingUpstream } from './lib/checking.mjs';
import { install } from './lib/install.mjs';
import { runSession, SWITCHES } from './lib/session.mjs';
import { CHECKED, COLUMNS, printTable } from './lib/table.mjs';
import { judge, judgeDirect } from './lib/verdict.mjs';

const HELP = `Real clients do a task of two big tool results against a scripted model, through the proxy.

node test/clients/run.mjs [name…]      names of set-ups, or the beginning of names; all without one
  --start                 start the built proxy (dist/cli.js) for each set-up; the default
  --proxy URL             use a running proxy; it must forward to http://127.0.0.1:<--upstream-port>/v1
  --upstream-port N       where the scripted model listens with --proxy (default 8107)
  --switch HOW            in mid-session the proxy is killed, and goes on: off (MCP_PRUNER_ENABLED=false), shadow, header (the client
                          sends x-mcp-pruner: off); gone: no proxy any more, which must fail with --check; locked: another
                          process keeps the store until the client was answered twice with 503
  --check                 the model checks the history as the providers do (docs/conformance.md), and nothing else is judged
  --direct                no proxy at all: shows that the set-ups work by themselves
  --timeout SECONDS       of one client (default 240)
  --json FILE             write the results there as well
  --keep                  keep each client's throw-away folder, with its output
  --list                  print the names

Clients are installed on demand into ${defaultCache()} (MCP_PRUNER_CLIENTS_DIR).
`;

function defaultCache() {
  return process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    start: { type: 'boolean', default: false },
    direct: { type: 'boolean', default: false },
    switch: { type: 'string' },
    check: { type: 'boolean', default: false },
    proxy: { type: 'string' },
    'upstream-port': { type: 'string', default: '8107' },
    timeout: { type: 'string', default: '240' },
    json: { type: 'string' },
    keep: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

const say = (text) => process.stdout.write(`${text}\n`);
const chosen = drivers.filter(
  ({ name, isChecked = false }) =>
    (values.check ? CHECKED_SETUPS.has(name) : !isChecked) &&
    (positionals.length === 0 || positionals.some((wanted) => name.startsWith(wanted))),
);

async function once(driver, installed, through, then) {
  const nonce = randomBytes(5).toString('hex');
  const session = await runSession(driver, installed, {
    through,
    nonce,
    upstreamPort: Number(values['upstream-port']),
    timeoutMs: Number(values.timeout) * 1000,
    keep: values.keep,
    switched: values.switch,
    model: values.check ? startCheckingUpstream : undefined,
  });
  try {
    const verdict = await then(session, nonce);
    if (values.keep) keepOutput(session);
    return { ...verdict, output: verdict.failures.length > 0 ? tail(session) : undefined };
  } finally {
    await session.close();
  }
}

function keepOutput({ root, result, exchanges, received, proxyLog }) {
  const save = (name, text) => writeFileSync(join(root, name), text);
  save('stdout.txt', result.stdout);
  save('stderr.txt', result.stderr);
  save('proxy.log', proxyLog());
  save('sent.json', JSON.stringify(exchanges, null, 1));
  save('received.json', JSON.stringify(received, null, 1));
  say(`  kept ${root}`);
}

const tail = ({ result, proxyLog }) => ({
  stdout: result.stdout.slice(-1500),
  stderr: result.stderr.slice(-1500),
  proxy: proxyLog().slice(-1500),
});

async function runDriver(driver) {
  const installed = await install(defaultCache(), driver.packages);
  if (values.check) {
    const checked = async (session, nonce) => judgeChecked(session, nonce);
    return { client: driver.name, version: installed.version, ...(await once(driver, installed, 'start', checked)) };
  }
  const further = driver.steps.filter((step) => PROXY_STEPS.includes(step)).length;
  const direct = await once(driver, installed, 'direct', async (session, nonce) => judgeDirect(session, nonce));
  const row = { client: driver.name, version: installed.version };
  if (values.direct || direct.failures.length > 0) {
    const failures = direct.failures.map((text) => (values.direct ? text : `without the proxy: ${text}`));
    return { ...row, ...direct, failures };
  }
  const verdict = await once(driver, installed, values.proxy ?? 'start', (session, nonce) =>
    judge(session, nonce, { requests: direct.requests + further, recovers: further > 0 }),
  );
  return { ...row, ...verdict };
}

async function main() {
  if (values.help) return say(HELP);
  if (values.list) return say(drivers.map(({ name }) => name).join('\n'));
  if (values.switch !== undefined && !(values.switch in SWITCHES))
    throw new Error(`--switch: ${Object.keys(SWITCHES).join(', ')}`);
  if (chosen.length === 0) throw new Error(`no such client; there are ${drivers.map(({ name }) => name).join(', ')}`);
  const rows = [];
  for (const driver of chosen) {
    const startedMs = performance.now();
    const row = await runDriver(driver).catch((cause) => ({
      client: driver.name,
      version: '',
      failures: [cause instanceof Error ? (cause.stack ?? cause.message) : String(cause)],
    }));
    rows.push({ ...row, seconds: Math.round((performance.now() - startedMs) / 100) / 10 });
    say(`${row.failures.length === 0 ? 'ok    ' : 'FAILED'} ${driver.name}`);
    for (const failure of row.failures) say(`       ${failure.slice(0, 400)}`);
    for (const [name, text] of Object.entries(row.output ?? {})) if (text !== '') say(`  --- ${name}\n${text}`);
  }
  say('');
  say(printTable(rows, values.check ? CHECKED : COLUMNS));
  if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(rows, null, 2)}\n`);
  if (rows.some((row) => row.failures.length > 0)) process.exitCode = 1;
}

await main();
