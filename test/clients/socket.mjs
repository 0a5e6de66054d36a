import { randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocketServer } from 'ws';
import { shellCall } from './lib/calls.mjs';
import { readAll } from './lib/http.mjs';
import { install } from './lib/install.mjs';
import { runProcess } from './lib/process.mjs';
import { FACTS, SOURCE_PATH, TASK, writeProject } from './lib/project.mjs';
import { startProxy } from './lib/proxy.mjs';
import { API_KEY, environment } from './lib/session.mjs';
import { finalAnswer } from './lib/upstream.mjs';
import { responses } from './lib/wires/responses.mjs';

/**
 * Codex over a WebSocket. In mid-session the proxy is killed, and goes on with MCP_PRUNER_ENABLED=false: every item that
 * was sent must be sent again byte for byte, on the new connection or by POST, and the answer must be right.
 *
 * node test/clients/socket.mjs      Codex is installed on demand into MCP_PRUNER_CLIENTS_DIR; the proxy is the built one
 */
const cache = process.env.MCP_PRUNER_CLIENTS_DIR ?? join(tmpdir(), 'mcp-pruner-clients');
const BINARY = '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex';
const SHELLS = ['shell_command', 'shell', 'exec_command'];
const STEPS = [shellCall(SHELLS), shellCall(SHELLS, `cat ${SOURCE_PATH}`)];

/** An item in one spelling: the client sends answers of the model back in one of its own. */
function meaningOf({ type = 'message', role, call_id: call, name, arguments: args, output, content }) {
  const parts = Array.isArray(content) ? content.map(({ text, ...rest }) => text ?? rest) : content;
  return JSON.stringify([type, role, call, name, args, output, parts]);
}

/** The model: it keeps what it answered, and notes each item that it gets. */
function scriptedModel(nonce, afterFirstResult) {
  const kept = new Map();
  const seen = { frames: 0, posts: 0, changed: [], cut: false, connections: 0 };
  let before = [];
  let wasSwitched = false;
  const eventsFor = ({ previous_response_id: previous, model = 'scripted', ...body }) => {
    const items = [...(kept.get(previous) ?? []), ...body.input];
    const { tools, messages } = responses.read({ ...body, input: items });
    const results = messages.filter(({ role }) => role === 'tool');
    const id = `${nonce}-${seen.frames + seen.posts}`;
    const call = STEPS[results.length]?.(tools, {});
    const text = call === undefined ? finalAnswer(nonce, FACTS) : `Step ${results.length + 1}.`;
    const calls = call === undefined ? [] : [{ id: `call_${nonce}_${results.length}`, ...call }];
    const now = items.filter(({ type }) => type !== 'reasoning').map(meaningOf);
    const at = before.findIndex((item, i) => i < now.length && item !== now[i]);
    if (at >= 0) seen.changed.push({ request: seen.frames + seen.posts, item: at, was: before[at], is: now[at] });
    seen.cut ||= results.some(({ content }) => content.includes('⟦PRUNÉ'));
    before = now;
    const events = responses.events({ id, model, text, calls });
    kept.set(`resp_${id}`, items.concat(JSON.parse(events.at(-1).split('data: ')[1]).response.output));
    if (results.length === 1 && !wasSwitched) {
      wasSwitched = true;
      setImmediate(afterFirstResult);
    }
    return events;
  };
  const server = createServer(async (req, res) => {
    const body = (await readAll(req)).toString('utf8');
    if (req.method !== 'POST' || !req.url.endsWith('/responses')) return res.writeHead(404).end('{}');
    seen.posts++;
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    res.end(eventsFor(JSON.parse(body)).join(''));
  });
  new WebSocketServer({ server }).on('connection', (socket) => {
    seen.connections++;
    socket.on('error', () => {});
    socket.on('message', (data) => {
      const { type, ...body } = JSON.parse(data.toString('utf8'));
      if (type !== 'response.create') return;
      seen.frames++;
      for (const event of eventsFor(body)) socket.send(event.split('data: ')[1].trim());
    });
  });
  return { server, seen };
}

const nonce = randomBytes(5).toString('hex');
const root = mkdtempSync(join(tmpdir(), 'client-codex-socket-'));
const [home, work, state, config] = ['home', 'work', 'proxy', 'home/.codex'].map((name) => join(root, name));
for (const folder of [join(home, 'tmp'), work, state, config]) mkdirSync(folder, { recursive: true });
writeProject(work, 'inside');
const { folder, version } = await install(cache, 'codex');
let proxy;
const { server, seen } = scriptedModel(nonce, () => proxy.restart({ MCP_PRUNER_ENABLED: 'false' }));
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
proxy = await startProxy({ upstream: `http://127.0.0.1:${server.address().port}`, folder: state });
const settings = [
  'model = "scripted"',
  'model_provider = "scripted"',
  'check_for_update_on_startup = false',
  'tool_output_token_limit = 50000',
  '[analytics]',
  'enabled = false',
  '[model_providers.scripted]',
  'name = "scripted"',
  `base_url = "${proxy.origin}/v1"`,
  'env_key = "SCRIPTED_KEY"',
  'wire_api = "responses"',
  'supports_websockets = true',
];
writeFileSync(join(config, 'config.toml'), `${settings.join('\n')}\n`);
const args = ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK];
const env = { ...environment(home), CODEX_HOME: config, SCRIPTED_KEY: API_KEY };
const { stdout, stderr } = await runProcess(join(folder, 'node_modules', BINARY), args, {
  cwd: work,
  env,
  timeoutMs: 240_000,
});
await proxy.close();
server.closeAllConnections();
server.close();
rmSync(root, { recursive: true, force: true, maxRetries: 3 });

const failures = [
  ...(stdout.includes(finalAnswer(nonce, FACTS)) ? [] : [`no answer: ${stdout.slice(-500)} ${stderr.slice(-500)}`]),
  ...(seen.frames >= 3 ? [] : [`${seen.frames} requests over the WebSocket, ${seen.posts} by POST`]),
  ...(seen.connections >= 2 || seen.posts > 0 ? [] : ['nothing was sent after the switch']),
  ...(seen.cut ? [] : ['nothing was cut']),
  ...seen.changed.map((change) => `a sent item changed: ${JSON.stringify(change).slice(0, 600)}`),
];
process.stdout.write(
  `${failures.length === 0 ? 'ok' : 'FAILED'} codex ${version}: ${seen.frames} frames on ${seen.connections} connections, ${seen.posts} POST, ${seen.changed.length} items changed\n`,
);
for (const failure of failures) process.stdout.write(`  ${failure}\n`);
process.exit(failures.length === 0 ? 0 : 1);
